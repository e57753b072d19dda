// Double backward of nll_loss, whose gradient is linear in grad_output.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// `grad` has the sizes of the scores.
Tensor nll_twice(const Tensor& grad, const Tensor& target, const Tensor& weight, int64_t reduction,
                 int64_t ignore_index, const Tensor& total_weight);

}  // namespace uh::autograd
