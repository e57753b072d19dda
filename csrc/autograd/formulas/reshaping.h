// Gradients of reshaping.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// Zero on the diagonal, which was overwritten.
Tensor fill_diagonal_backward(const Tensor& grad, bool wrap);

}  // namespace uh::autograd
