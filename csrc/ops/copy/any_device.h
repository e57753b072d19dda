// Copies and zeros on whatever device the elements are: what composites need of every backend. They
// write new tensors, so no version counts them, and on the host they go past the dispatcher.
#pragma once

#include "tensor/tensor.h"

namespace uh {

// to[...] = from[...], converted; `from` must broadcast to the sizes of `to`. Meta tensors stay as
// they are.
void write_elements(const Tensor& to, const Tensor& from);

// A row-major copy.
Tensor dense_copy(const Tensor& self);

// A new row-major tensor of zeros.
Tensor zeros_on(const Dims& sizes, DType dtype, Device device);

}  // namespace uh
