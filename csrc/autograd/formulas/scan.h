// Gradients of scans: an element contributes to its own result and all later ones.
#pragma once

#include "autograd/formulas/gather.h"

namespace uh::autograd {

// True if an element is 0; true for meta tensors, whose values are unknown.
bool has_zero(const Tensor& self);
// The product of all elements before each one along `dim`; 1 for the first.
Tensor exclusive_cumprod(const Tensor& self, int64_t dim);

Tensor cumprod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim);
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                             int64_t dim);
Tensor running_extreme_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                const Tensor& indices);

}  // namespace uh::autograd
