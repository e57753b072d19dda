// Gradients of masked operators.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// The sum of the elements that the mask selects: the gradient of the value written there.
Tensor masked_sum(const Tensor& grad, const Tensor& mask);
Tensor masked_select_backward(const Tensor& grad, const Dims& sizes, const Tensor& mask);
// The gradient of the source, whose last elements may be unused.
Tensor masked_scatter_backward(const Tensor& grad, const Tensor& mask, const Dims& sizes);

}  // namespace uh::autograd
