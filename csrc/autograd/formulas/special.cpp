#include "autograd/formulas/special.h"

#include <limits>
#include <numbers>

#include "autograd/formulas/basics.h"
#include "generated/ops/comparison.h"
#include "generated/ops/special.h"
#include "generated/ops/transcendental.h"

namespace uh::autograd {

// Derivative of sin(pi x) / (pi x).
Tensor sinc_backward(const Tensor& grad, const Tensor& self) {
  const Tensor x = self * Scalar(std::numbers::pi), square = x * self;
  const Tensor slope = (x * ops::cos(x) - ops::sin(x)) / square;
  return ops::where(ops::eq(square, Scalar(0)), Scalar(0), grad * conj(slope));
}

// Without eps the gradient outside of [0, 1] is NaN; with eps the input is clamped, so it is 0.
Tensor logit_backward(const Tensor& grad, const Tensor& self, const std::optional<double>& eps) {
  const bool limited = eps && *eps >= 0;
  const double low = limited ? *eps : 0, high = 1 - low;
  const Tensor inside = ops::logical_and(ops::ge(self, Scalar(low)), ops::le(self, Scalar(high)));
  const Scalar beyond(limited ? 0.0 : std::numeric_limits<double>::quiet_NaN());
  return ops::where(inside, grad / (self * (Scalar(1) - self)), beyond);
}

Tensor mvlgamma_backward(const Tensor& grad, const Tensor& self, int64_t p) {
  Tensor sum = ops::digamma(self + Scalar(0));  // -0 becomes 0, where digamma is -inf
  for (int64_t i = 1; i < p; ++i)
    sum = sum + ops::digamma(self - Scalar(static_cast<double>(i) / 2));
  return grad * sum;
}

Tensor gamma_density(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return grad * ops::exp((self - Scalar(1)) * ops::log(other) - other - ops::lgamma(self));
}

Tensor xlog1py_backward(const Tensor& grad, const Operand& self, const Operand& other) {
  const Tensor y = as_tensor(other);
  const Tensor none = ops::logical_and(ops::eq(as_tensor(self), Scalar(0)), ops::le(y, Scalar(-1)));
  return ops::where(none, Scalar(0), grad * ops::log1p(y));
}

}  // namespace uh::autograd
