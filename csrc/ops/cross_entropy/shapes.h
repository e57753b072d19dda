// Shape rules of cross_entropy.yaml.
#pragma once

#include <tuple>

#include "tensor/tensor.h"

namespace uh::shapes {

// Returns the loss and the sum of the weights.
std::tuple<Tensor, Tensor> nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                                    int64_t reduction);
std::tuple<Tensor, Tensor> nll_loss2d(const Tensor& self, const Tensor& target,
                                      const Tensor& weight, int64_t reduction);
// `pictures`: true for nll_loss2d.
Tensor nll_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                         const Tensor& weight, const Tensor& total_weight, bool pictures);
// Returns the losses and log_alpha (batch, steps, states), where a sequence of S targets has 2 S +
// 1 states.
std::tuple<Tensor, Tensor> ctc_loss(const Tensor& log_probs, const Tensor& targets,
                                    const Dims& input_lengths, const Dims& target_lengths,
                                    int64_t blank);
Tensor ctc_loss_backward(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                         const Dims& input_lengths, const Dims& target_lengths,
                         const Tensor& neg_log_likelihood, const Tensor& log_alpha, int64_t blank);

}  // namespace uh::shapes
