// Copies and zeros on any device, as composites need them. They write new tensors, so no version is
// bumped, and on the host they bypass the dispatcher.
#pragma once

#include "tensor/tensor.h"

namespace uh {

// to[...] = from[...], converted; `from` must broadcast to the sizes of `to`. Does nothing for meta
// tensors.
void write_elements(const Tensor& to, const Tensor& from);

// Returns a row-major copy.
Tensor dense_copy(const Tensor& self);

// Returns `read`, or a copy of it if it shares memory with `written`.
Tensor apart(const Tensor& written, const Tensor& read);

// Returns a new row-major tensor of zeros.
Tensor zeros_on(const Dims& sizes, DType dtype, Device device);

}  // namespace uh
