// Gradients of activations that need more than one operator.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

Tensor glu_backward(const Tensor& grad, const Tensor& self, int64_t dim);

}  // namespace uh::autograd
