// Gradients of arithmetic that are longer than a line.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

inline constexpr double kLog2 = 0.69314718055994530942;

Scalar one_minus(const Scalar& number);
// The gradient of copysign with respect to `self`; 0 where `self` is 0.
Tensor copysign_backward(const Tensor& grad, const Operand& self, const Tensor& result);

}  // namespace uh::autograd
