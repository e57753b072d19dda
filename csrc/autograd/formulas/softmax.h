// Gradients of the gradients of softmax and log_softmax.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// Of the output that the gradient of softmax was made with; `grad` belongs to that gradient.
Tensor softmax_twice(const Tensor& grad, const Tensor& grad_output, int64_t dim,
                     const Tensor& output);
// The same of log_softmax; and of the gradient that came to it.
Tensor log_softmax_twice(const Tensor& grad, const Tensor& grad_output, int64_t dim,
                         const Tensor& output);
Tensor log_softmax_gradient_twice(const Tensor& grad, int64_t dim, const Tensor& output);

}  // namespace uh::autograd
