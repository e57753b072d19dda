// Gradients of matrix products, in the memory order of the factors.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// left @ right = product: the gradient of either factor. A factor that was a transposed matrix (the
// weight of a linear layer) gets a gradient in the same order, which its leaf can keep uncopied.
Tensor mm_gradient_of_left(const Tensor& grad, const Tensor& right, const TensorInfo& left);
Tensor mm_gradient_of_right(const Tensor& left, const Tensor& grad, const TensorInfo& right);

Tensor mv_gradient_of_vector(const Tensor& matrix, const Tensor& grad);

}  // namespace uh::autograd
