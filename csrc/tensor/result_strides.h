// The strides of a new pointwise result: PyTorch's rule, for eager loops and fused ones.
#pragma once

#include <span>

#include "tensor/tensor_impl.h"

namespace uh {

// Returns the strides that TensorIterator gives a result of these sizes. The operands (at least
// one, at most 3) broadcast to them. `with_number`: another operand is a number, which counts as a
// tensor of another shape.
Dims result_strides(const Dims& sizes, std::span<const Layout> operands, bool with_number);

}  // namespace uh
