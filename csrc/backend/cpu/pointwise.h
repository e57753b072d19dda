// Pointwise operators on the CPU: one runtime function drives the loops of all expressions.
//
// run_pointwise applies the shape rule (ops/pointwise.h) and runs the loop generated from the yaml
// expression over a collapsed iteration space.
// Read next: loops.h (the loops), tensor_iterator.h (the iteration space).
#pragma once

#include "backend/cpu/per_isa.h"
#include "ops/pointwise.h"

namespace uh {

Tensor run_pointwise(const PointwiseOp& op, Form form, std::span<const Input> inputs,
                     const Params& params, const Tensor& target);

}  // namespace uh
