// A new tensor for the result of a kernel that walks its operands as pointwise operators do.
#pragma once

#include "ops/pointwise.h"

namespace uh {

// With the shape that `inputs` broadcast to and the strides that a pointwise operator's result has.
Tensor empty_pointwise_result(std::span<const Input> inputs, DType dtype, Device device);

// Runs an operator whose second operand is a number that has no say in the strides of the result.
Tensor empty_unary_result(const PointwiseOp& op, std::span<const Input> inputs,
                          const Params& params);
template <PointwiseRun run>
Tensor run_unary(const PointwiseOp& op, Form, std::span<const Input> inputs, const Params& params,
                 const Tensor&) {
  return run(op, Form::kOut, inputs, params, empty_unary_result(op, inputs, params));
}

}  // namespace uh
