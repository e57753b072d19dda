// Gradients of arithmetic that do not fit into a line of yaml.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

inline constexpr double kLog2 = 0.69314718055994530942;

Scalar one_minus(const Scalar& number);
// The gradient of copysign with respect to `self`; 0 where `self` is 0.
Tensor copysign_backward(const Tensor& grad, const Operand& self, const Tensor& result);
// Zeros. The operands are saved all the same, as in PyTorch: a second backward pass, or one after a
// write to them, is an error.
Tensor rounded_div_self_backward(const Tensor& grad, const Operand& other);
Tensor rounded_div_other_backward(const Tensor& grad, const Operand& self, const Operand& other);

}  // namespace uh::autograd
