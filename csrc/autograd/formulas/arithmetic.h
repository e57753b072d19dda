// Gradients of arithmetic that are longer than a line.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

inline constexpr double kLog2 = 0.69314718055994530942;

Scalar one_minus(const Scalar& number);
// The gradient of copysign with respect to `self`; 0 where `self` is 0.
Tensor copysign_backward(const Tensor& grad, const Operand& self, const Tensor& result);
// Zero; but the operands are saved, as PyTorch saves them: a second backward pass is refused, and
// one after a write to them.
Tensor rounded_div_self_backward(const Tensor& grad, const Operand& other);
Tensor rounded_div_other_backward(const Tensor& grad, const Operand& self, const Operand& other);

}  // namespace uh::autograd
