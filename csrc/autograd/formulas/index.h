// Gradients of indexing with tensors of indices.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

Tensor index_backward(const Tensor& grad, const Dims& sizes, const std::vector<Tensor>& indices);
Tensor index_put_self_backward(const Tensor& grad, const std::vector<Tensor>& indices,
                               bool accumulate);

}  // namespace uh::autograd
