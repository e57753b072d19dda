#include "autograd/formulas/transcendental.h"

#include "autograd/formulas/basics.h"
#include "generated/ops/comparison.h"
#include "generated/ops/transcendental.h"

namespace uh::autograd {

Tensor erf_backward(const Tensor& grad, const Tensor& self) {
  return grad * ops::exp(-(self * self)) * Scalar(kTwoBySqrtPi);
}

Tensor xlogy_backward(const Tensor& grad, const Operand& self, const Operand& other) {
  const Tensor y = as_tensor(other);
  const Tensor none = ops::logical_and(ops::eq(as_tensor(self), Scalar(0)), ops::le(y, Scalar(0)));
  return ops::where(none, Scalar(0), grad * ops::log(y));
}

}  // namespace uh::autograd
