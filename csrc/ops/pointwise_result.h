// New tensors for the results of kernels that iterate over operands as pointwise operators do.
#pragma once

#include "ops/pointwise.h"

namespace uh {

// Returns a tensor of the `inputs`' broadcast shape, with the strides of a pointwise result.
Tensor empty_pointwise_result(std::span<const Input> inputs, DType dtype, Device device);

}  // namespace uh
