#include "autograd/formulas/transcendental.h"

#include "autograd/formulas/basics.h"
#include "generated/ops/comparison.h"
#include "generated/ops/transcendental.h"

namespace uh::autograd {

// sqrt(z * z - 1) differs from sqrt(z - 1) * sqrt(z + 1) on the left half-plane.
Tensor acosh_backward(const Tensor& grad, const Tensor& self) {
  const Scalar unit(1);
  if (!is_complex(self.dtype())) return grad * ops::rsqrt(self * self - unit);
  return grad * conj(ops::rsqrt(self - unit) * ops::rsqrt(self + unit));
}

Tensor erf_backward(const Tensor& grad, const Tensor& self) {
  return grad * ops::exp(-(self * self)) * Scalar(kTwoBySqrtPi);
}

Tensor xlogy_backward(const Tensor& grad, const Operand& self, const Operand& other) {
  const Tensor y = as_tensor(other);
  const Tensor none = ops::logical_and(ops::eq(as_tensor(self), Scalar(0)), ops::le(y, Scalar(0)));
  return ops::where(none, Scalar(0), grad * ops::log(y));
}

Tensor inverse_square(const Tensor& a, const Tensor& b) {
  const Tensor inverse = ops::reciprocal(a * a + b * b);
  return ops::where(ops::isinf(inverse), Scalar(0), inverse);
}

}  // namespace uh::autograd
