// The strides of a new pointwise result: PyTorch's rules, for eager loops and fused ones.
#pragma once

#include <span>

#include "tensor/tensor_impl.h"

namespace uh {

// Those of the loop over all operands, of the loop over the tensors among them, of the first
// operand (empty_like), or row-major ones.
enum class ResultStrides : int8_t { kLoop, kTensors, kOperand, kRowMajor };

// Returns the strides of a result of these sizes. The operands (at least one, at most 3) broadcast
// to them. `with_number`: another operand is a number, which TensorIterator counts as a tensor of
// another shape.
Dims result_strides(ResultStrides rule, const Dims& sizes, std::span<const Layout> operands,
                    bool with_number);

}  // namespace uh
