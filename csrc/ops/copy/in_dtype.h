// Conversion of an operand to the compute dtype, as a differentiable call.
#pragma once

#include "generated/ops/copy.h"

namespace uh {

// Returns the tensor itself if it has the dtype, or if `dtype` is kUndefined.
inline Tensor in_dtype(const Tensor& self, DType dtype) {
  if (dtype == DType::kUndefined || self.dtype() == dtype) return self;
  return ops::_to_copy(self, dtype, Device::kUndefined, MemoryFormat::kUndefined);
}

}  // namespace uh
