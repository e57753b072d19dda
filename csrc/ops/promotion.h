// The dtype in which a pointwise operator computes, and the dtype of its result. run_pointwise
// determines them at every call, a fusion group only once.
#pragma once

#include "ops/pointwise.h"

namespace uh {

DType compute_dtype(const PointwiseOp& op, std::span<const Input> inputs, const Params& params);
DType result_dtype(const PointwiseOp& op, DType computed);

// Returns the dtype to which operand `i` is converted before the loop reads it.
inline DType operand_dtype(const PointwiseOp& op, size_t i, DType computed) {
  return op.promotion == Promotion::kWhere && i == 0 ? DType::kBool : computed;
}

}  // namespace uh
