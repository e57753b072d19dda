#include "autograd/formulas/arithmetic.h"

#include "autograd/formulas/basics.h"
#include "generated/ops/comparison.h"

namespace uh::autograd {

Scalar one_minus(const Scalar& number) {
  if (number.is_complex()) return Complex128(1 - number.to_complex().re, -number.imag());
  return 1 - number.to_double();
}

Tensor copysign_backward(const Tensor& grad, const Operand& self, const Tensor& result) {
  const Tensor x = as_tensor(self);
  return ops::where(ops::eq(x, Scalar(0)), Scalar(0), grad * (result / x));
}

Tensor rounded_div_self_backward(const Tensor& grad, const Operand&) { return zero_gradient(grad); }
Tensor rounded_div_other_backward(const Tensor& grad, const Operand&, const Operand&) {
  return zero_gradient(grad);
}

}  // namespace uh::autograd
