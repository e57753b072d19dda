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

}  // namespace uh::shapes
