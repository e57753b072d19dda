// The gradient of the multi-class margin loss.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

Tensor multi_margin_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                             const Scalar& p, const Scalar& margin, const Tensor& weight,
                             int64_t reduction);

}  // namespace uh::autograd
