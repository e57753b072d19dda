// Double backward of softmax and log_softmax.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// The gradient of `output` in softmax's gradient formula; `grad` is the gradient of its result.
Tensor softmax_twice(const Tensor& grad, const Tensor& grad_output, int64_t dim,
                     const Tensor& output);
// The same for log_softmax, and the gradient of its grad_output.
Tensor log_softmax_twice(const Tensor& grad, const Tensor& grad_output, int64_t dim,
                         const Tensor& output);
Tensor log_softmax_gradient_twice(const Tensor& grad, int64_t dim, const Tensor& output);

}  // namespace uh::autograd
