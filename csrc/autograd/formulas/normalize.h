// Gradients of normalisations, through the result and through the returned statistics.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

std::tuple<Tensor, Tensor, Tensor> group_norm_gradients(const Gradients& grads, const Tensor& input,
                                                        const Tensor& weight, const Tensor& mean,
                                                        const Tensor& rstd, int64_t n, int64_t c,
                                                        int64_t hxw, int64_t group,
                                                        const Dims& target_sizes);
std::tuple<Tensor, Tensor> rms_norm_gradients(const Gradients& grads, const Tensor& input,
                                              const Dims& shape, const Tensor& weight,
                                              const Tensor& rstd, const Dims& target_sizes);

}  // namespace uh::autograd
