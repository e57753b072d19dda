// Gradients of the absolute value, angle and sign of complex numbers.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// The gradient of a complex tensor by its real (0) or imaginary (1) parts: row-major, as in PyTorch,
// where they are selected from view_as_real.
Tensor part_backward(const Tensor& grad, const Dims& sizes, int64_t part);
Tensor angle_backward(const Tensor& grad, const Tensor& self);
Tensor sgn_backward(const Tensor& grad, const Tensor& self, const Tensor& result);

}  // namespace uh::autograd
