// The shape rule of complex.yaml, and the parts of complex tensors.
#pragma once

#include "tensor/tensor.h"

namespace uh {

// Returns a view of the real (0) or imaginary (1) parts.
Tensor complex_part(const Tensor& self, int64_t which);

}  // namespace uh

namespace uh::shapes {

Tensor complex(const Tensor& real, const Tensor& imag);

}  // namespace uh::shapes
