// New tensors for the results of kernels that iterate over operands as pointwise operators do.
#pragma once

#include "ops/pointwise.h"

namespace uh {

// Returns a tensor of the `inputs`' broadcast shape, with the strides of a pointwise result.
Tensor empty_pointwise_result(std::span<const Input> inputs, DType dtype, Device device);

// Runs an operator whose second operand is a number that does not affect the result's strides.
Tensor empty_unary_result(const PointwiseOp& op, std::span<const Input> inputs,
                          const Params& params);
template <PointwiseRun run>
Tensor run_unary(const PointwiseOp& op, Form, std::span<const Input> inputs, const Params& params,
                 const Tensor&) {
  return run(op, Form::kOut, inputs, params, empty_unary_result(op, inputs, params));
}

}  // namespace uh
