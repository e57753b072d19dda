// Gradients of reading by index: the gradient is added at the positions that were read. Only the
// sizes of `self` are used where it is passed whole: PyTorch saves it, so writing it later is an error.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

Tensor gather_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index);
Tensor index_select_backward(const Tensor& grad, const Dims& sizes, int64_t dim,
                             const Tensor& index);
Tensor take_backward(const Tensor& grad, const Tensor& self, const Tensor& index);

}  // namespace uh::autograd
