// Gradients of the absolute value, angle and sign of complex numbers.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

Tensor angle_backward(const Tensor& grad, const Tensor& self);
Tensor sgn_backward(const Tensor& grad, const Tensor& self, const Tensor& result);

}  // namespace uh::autograd
