// Gradients of products with an addend.
#pragma once

#include "autograd/formulas/linalg.h"

namespace uh::autograd {

// `t` in the dtype of `like`: products that promote accept operands of other dtypes.
inline Tensor in_dtype_of(const Tensor& t, const Tensor& like) {
  if (t.dtype() == like.dtype()) return t;
  return ops::_to_copy(t, like.dtype(), Device::kUndefined, MemoryFormat::kUndefined);
}

}  // namespace uh::autograd
