// Losses that are pointwise expressions, reduced while they are computed.
#pragma once

#include <span>

#include "ops/loss/reduction.h"
#include "ops/pointwise.h"

namespace uh {

// The losses that a pointwise operator makes, reduced. Of dense operands they are made block by
// block in the cache and never stored.
Tensor pointwise_loss(const PointwiseOp& op, std::span<const Input> inputs, const Params& params,
                      int64_t reduction);

}  // namespace uh
