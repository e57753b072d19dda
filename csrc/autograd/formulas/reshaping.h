// Gradients of reshaping.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// What was on the diagonal has been overwritten.
Tensor fill_diagonal_backward(const Tensor& grad, bool wrap);

}  // namespace uh::autograd
