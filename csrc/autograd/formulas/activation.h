// Gradients of activations that are no single pass.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

Tensor glu_backward(const Tensor& grad, const Tensor& self, int64_t dim);

}  // namespace uh::autograd
