// The composite operators of special.yaml.
#include "generated/kernels/special.h"

#include <cmath>
#include <numbers>

#include "generated/ops/arithmetic.h"
#include "generated/ops/copy.h"
#include "generated/ops/rounding.h"
#include "generated/ops/special.h"
#include "generated/ops/transcendental.h"

namespace uh::kernels {

constexpr int64_t kManyTerms = int64_t{1} << 20;  // PyTorch runs out of memory for more

Tensor polygamma(KeySet, int64_t n, const Tensor& self) {
  check(n >= 0, "polygamma: does not support a negative order, got n = ", n);
  return n == 0 ? ops::digamma(self) : ops::_polygamma(self, n);
}

void polygamma_inplace(KeySet, const Tensor& self, int64_t n) { ops::polygamma_out(n, self, self); }

// Sums over p shifted copies without storing them: p is small.
Tensor mvlgamma(KeySet, const Tensor& self, int64_t p) {
  check(p >= 1, "mvlgamma: p has to be greater than or equal to 1, got ", p);
  check(self.dtype() != DType::kBool, "mvlgamma: The input tensor may not be a boolean tensor.");
  check(p <= kManyTerms, "mvlgamma: p has to be at most ", kManyTerms, ", got ", p);
  Tensor sum = ops::lgamma(ops::contiguous(self));  // the sum is row-major
  for (int64_t i = 1; i < p; ++i) {
    const Tensor shifted = ops::sub(self, Scalar(static_cast<double>(i) / 2), Scalar(1));
    ops::add_(sum, ops::lgamma(shifted), Scalar(1));
  }
  const auto order = static_cast<double>(p);
  const double constant = order * (order - 1) / 4 * std::log(std::numbers::pi);
  ops::add_(sum, Scalar(constant), Scalar(1));
  return sum;
}

Tensor special_expit(KeySet, const Tensor& self) { return ops::sigmoid(self); }
Tensor special_psi(KeySet, const Tensor& self) { return ops::digamma(self); }
Tensor special_gammaln(KeySet, const Tensor& self) { return ops::lgamma(self); }
Tensor special_round(KeySet, const Tensor& self, int64_t decimals) {
  return ops::round_decimals(self, decimals);
}
Tensor special_gammainc(KeySet, const Tensor& self, const Tensor& other) {
  return ops::igamma(self, other);
}
Tensor special_gammaincc(KeySet, const Tensor& self, const Tensor& other) {
  return ops::igammac(self, other);
}
Tensor special_multigammaln(KeySet, const Tensor& self, int64_t p) {
  return ops::mvlgamma(self, p);
}

}  // namespace uh::kernels
