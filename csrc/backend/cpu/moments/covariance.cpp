// cov and corrcoef: composed of other operators.
#include "backend/cpu/copy/elements.h"
#include "generated/kernels/moments.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/linalg.h"
#include "generated/ops/moments.h"
#include "generated/ops/reduce.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"
#include "memory/device_registry.h"

namespace uh::kernels {
namespace {

void check_weights(const Tensor& weights, const char* argument_name, int64_t observations) {
  check(weights.ndim() <= 1, "cov(): expected ", argument_name,
        " to have one or fewer dimensions but got ", argument_name, " with ", weights.ndim(),
        " dimensions");
  check(weights.numel() == observations, "cov(): expected ", argument_name,
        " to have the same numel as ", "there are observations in the input but got ",
        weights.numel(), " != ", observations);
  if (weights.is_meta() || weights.numel() == 0) return;
  check(read_scalar(ops::min(weights)).to_double() >= 0, "cov(): ", argument_name,
        " cannot be negative");
}

Tensor number(const Scalar& value, const Tensor& like) {
  const bool on_host = is_host(like.device());
  Tensor out = empty({}, value.dtype(default_dtype()), on_host ? like.device() : Device::kCPU);
  fill_elements(out, element_bytes(value, out.dtype()));
  if (on_host) return out;
  return ops::_to_copy(out, DType::kUndefined, like.device(), MemoryFormat::kUndefined);
}

}  // namespace

Tensor cov(KeySet, const Tensor& self, int64_t correction, const Tensor& fweights,
           const Tensor& aweights) {
  check(self.ndim() <= 2,
        "cov(): expected input to have two or fewer dimensions but got an input with ", self.ndim(),
        " dimensions");
  check(self.dtype() != DType::kBool, "cov(): bool dtype is not supported for input");
  const Tensor rows = self.ndim() < 2 ? ops::reshape(self, {1, self.numel()}) : self;
  const int64_t observations = rows.size(1);
  Tensor weights;
  if (fweights) {
    check(is_integral(fweights.dtype()), "cov(): expected fweights to have integral dtype but got ",
          info(fweights.dtype()).title);
    check_weights(fweights, "fweights", observations);
    weights = fweights;
  }
  if (aweights) {
    check(is_floating(aweights.dtype()),
          "cov(): expected aweights to have floating point dtype but got ",
          info(aweights.dtype()).title);
    check_weights(aweights, "aweights", observations);
    weights = weights ? ops::mul(weights, aweights) : aweights;
  }
  const Tensor sum = weights ? ops::sum(weights) : number(observations, self);
  check(!weights || sum.is_meta() || read_scalar(sum).to_double() != 0,
        "cov(): weights sum to zero, can't be normalized");
  const auto weighed = [&](const Tensor& x) { return weights ? ops::mul(x, weights) : x; };
  const Tensor mean = ops::div(ops::sum(weighed(rows), Dims{1}), sum);
  Tensor norm;
  if (weights && aweights && correction != 0) {
    const Tensor lost = ops::div(ops::sum(ops::mul(weights, aweights)), sum);
    norm = ops::sub(sum, ops::mul(lost, Scalar(correction)), Scalar(1));
  } else {
    norm = ops::sub(sum, Scalar(correction), Scalar(1));
  }
  norm = ops::clamp(norm, Scalar(0), std::nullopt);
  const Tensor from_mean = ops::sub(rows, ops::unsqueeze(mean, 1), Scalar(1));
  Tensor other = ops::t(weighed(from_mean));
  if (is_complex(other.dtype())) other = ops::conj_physical(other);
  if (other.dtype() != from_mean.dtype()) {
    other = ops::_to_copy(other, from_mean.dtype(), Device::kUndefined, MemoryFormat::kUndefined);
  }
  const Tensor product = ops::mm(from_mean, other);
  const Tensor out = ops::div(product, norm);
  return ops::squeeze(out, std::nullopt);
}

Tensor corrcoef(KeySet, const Tensor& self) {
  check(self.ndim() <= 2,
        "corrcoef(): expected input to have two or fewer dimensions but got an input with ",
        self.ndim(), " dimensions");
  const Tensor c = ops::cov(self, 1, Tensor(), Tensor());
  if (c.ndim() == 0) return ops::div(c, c);
  Tensor variance = ops::diagonal(c, 0, 0, 1);
  const bool complex = is_complex(c.dtype());
  if (complex) variance = ops::select(ops::view_as_real(variance), -1, 0);
  const Tensor deviation = ops::sqrt(variance);
  const Tensor scaled =
      ops::div(ops::div(c, ops::unsqueeze(deviation, 1)), ops::unsqueeze(deviation, 0));
  if (!complex) return ops::clamp(scaled, Scalar(-1), Scalar(1));
  return ops::view_as_complex(ops::clamp(ops::view_as_real(scaled), Scalar(-1), Scalar(1)));
}

}  // namespace uh::kernels
