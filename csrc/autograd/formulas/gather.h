// Gradients of reading by index: the gradient is added at the positions that were read.
//
// If PyTorch saves `self`, formulas pass it although they read only its sizes: a write to it before
// the backward pass is then an error here, too.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

Tensor gather_backward(const Tensor& grad, const Dims& sizes, int64_t dim, const Tensor& index);
Tensor gather_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index);
Tensor index_select_backward(const Tensor& grad, const Dims& sizes, int64_t dim,
                             const Tensor& index);
Tensor take_backward(const Tensor& grad, const Tensor& self, const Tensor& index);

}  // namespace uh::autograd
