// Gradients of element-wise losses.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// The weight of each element's loss in the result: 1 / n for the mean.
double loss_factor(int64_t reduction, const Dims& self, const Dims& target);
Tensor weighted(const Tensor& grad, const Tensor& weight);
Tensor bernoulli_backward_target(const Tensor& grad, const Tensor& self, double factor);
Tensor logits_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                       const Tensor& weight, const Tensor& pos_weight, double factor);
Tensor logits_backward_target(const Tensor& grad, const Tensor& self, const Tensor& weight,
                              const Tensor& pos_weight, double factor);

}  // namespace uh::autograd
