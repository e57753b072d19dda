// The gradient of scaled dot product attention, computed in blocks.
#pragma once

#include <tuple>

#include "autograd/formula.h"

namespace uh::autograd {

// The gradients of query, key, value and, if `needs_mask`, the mask.
std::tuple<Tensor, Tensor, Tensor, Tensor> attention_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& mask, const Tensor& output, const Tensor& logsumexp, bool is_causal,
    std::optional<double> scale, bool needs_mask);

}  // namespace uh::autograd
