#include "autograd/formulas/scan.h"

#include <limits>

#include "autograd/formulas/basics.h"
#include "generated/ops/comparison.h"
#include "generated/ops/creation.h"
#include "generated/ops/join.h"
#include "generated/ops/reduce.h"
#include "generated/ops/scan.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"

namespace uh::autograd {

bool has_zero(const Tensor& self) {
  if (self.is_meta()) return true;
  const GradMode quiet(false);
  return *ops::any(ops::eq(self, Scalar(0)), std::nullopt, false).data_as<bool>();
}

Tensor exclusive_cumprod(const Tensor& self, int64_t dim) {
  const int64_t d = dim < 0 ? dim + self.ndim() : dim;
  if (self.size(d) == 0) return self;
  Dims first = self.sizes();
  first[static_cast<size_t>(d)] = 1;
  const Tensor one = ops::ones(first, self.dtype(), self.device());
  return ops::cumprod(ops::cat({one, ops::narrow(self, d, 0, self.size(d) - 1)}, d), d);
}

// Element k contributes to all results from k on: grad_k + x_(k+1) (grad_(k+1) + x_(k+2) (...)),
// times the product of the elements before it. Without zeros that is a reversed cumsum of grad *
// result.
Tensor cumprod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim) {
  if (self.ndim() == 0 || self.numel() == 0) return grad;
  const int64_t d = dim < 0 ? dim + self.ndim() : dim, n = self.size(d);
  if (n == 1) return grad;
  if (!has_zero(self)) return ops::_cumsum_reversed(grad * conj(result), d) / conj(self);
  std::vector<Tensor> tails(static_cast<size_t>(n));
  tails.back() = ops::select(grad, d, n - 1);
  for (int64_t k = n - 2; k >= 0; --k) {
    const auto i = static_cast<size_t>(k);
    tails[i] = ops::select(grad, d, k) + conj(ops::select(self, d, k + 1)) * tails[i + 1];
  }
  return ops::stack(tails, d) * conj(exclusive_cumprod(self, d));
}

// Separates positive and negative gradients, each a logcumsumexp from the end.
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                             int64_t dim) {
  if (self.ndim() == 0 || self.numel() == 0) return grad;
  const auto backwards = [&](const Tensor& logs) {
    const Tensor sums = ops::flip(ops::logcumsumexp(ops::flip(logs, Dims{dim}), dim), Dims{dim});
    return ops::exp(sums + self);
  };
  if (is_complex(grad.dtype())) return conj(backwards(ops::log(conj(grad)) - result));
  // Finite instead of -inf, whose differences would be NaN in the double backward.
  const double never = grad.dtype() == DType::kFloat64    ? std::numeric_limits<double>::lowest()
                       : grad.dtype() == DType::kFloat16  ? -65504.0
                       : grad.dtype() == DType::kBFloat16 ? -0x1.FEp127
                                                          : std::numeric_limits<float>::lowest();
  const Tensor sizes = ops::log(ops::abs(grad));
  const auto from_end = [&](const Tensor& counted) {
    return backwards(ops::where(counted, sizes, Scalar(never)) - result);
  };
  return from_end(ops::gt(grad, Scalar(0))) - from_end(ops::lt(grad, Scalar(0)));
}

// `dim` need not be a dimension of a tensor without elements: see running_extreme.
Tensor running_extreme_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                const Tensor& indices) {
  return self.numel() == 0 ? ops::zeros_like(self) : gather_backward(grad, self, dim, indices);
}

}  // namespace uh::autograd
