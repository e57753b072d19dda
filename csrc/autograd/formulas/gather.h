// Gradients of reading by index: the gradient is added at the positions that were read.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

Tensor gather_backward(const Tensor& grad, const Dims& sizes, int64_t dim, const Tensor& index);
Tensor index_select_backward(const Tensor& grad, const Dims& sizes, int64_t dim,
                             const Tensor& index);
Tensor take_backward(const Tensor& grad, const Dims& sizes, const Tensor& index);

}  // namespace uh::autograd
