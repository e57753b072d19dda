// Conversion of an operand to the dtype that an operator computes in, as a call that has a gradient.
#pragma once

#include "generated/ops/copy.h"

namespace uh {

// Returns the tensor itself where it has the dtype, or where none is given (kUndefined).
inline Tensor in_dtype(const Tensor& self, DType dtype) {
  if (dtype == DType::kUndefined || self.dtype() == dtype) return self;
  return ops::_to_copy(self, dtype, Device::kUndefined, MemoryFormat::kUndefined);
}

}  // namespace uh
