// Losses that are pointwise expressions, fused with their reduction.
#pragma once

#include <span>

#include "ops/loss/reduction.h"
#include "ops/pointwise.h"

namespace uh {

// Reduces the losses that a pointwise operator computes. For dense operands they are computed block
// by block in the cache and never stored.
Tensor pointwise_loss(const PointwiseOp& op, std::span<const Input> inputs, const Params& params,
                      int64_t reduction);

}  // namespace uh
