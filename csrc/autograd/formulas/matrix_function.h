// Gradients of functions of matrices.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// exp of the block matrix (A^H, G; 0, A^H) has the gradient in its upper right corner.
Tensor matrix_exp_gradient(const Tensor& grad, const Tensor& self);

}  // namespace uh::autograd
