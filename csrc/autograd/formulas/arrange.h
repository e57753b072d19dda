// Gradients of operators that rearrange blocks and parts of tensors.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

std::vector<Tensor> block_diag_backward(const Tensor& grad, const std::vector<TensorInfo>& blocks);
Tensor narrow_backward(const Tensor& grad, const Dims& sizes, int64_t dim, int64_t start,
                       int64_t length);

}  // namespace uh::autograd
