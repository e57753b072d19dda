// Conversion between one element's bytes and a number.
#pragma once

#include <array>
#include <cstddef>

#include "tensor/tensor.h"

namespace uh {

// Throws if an element of `dtype` cannot hold the number. As in PyTorch, a negative integer wraps
// into an unsigned dtype; a float out of range does not.
void check_fits(const Scalar& value, DType dtype);

// Returns a number as an element's bytes. Throws if the dtype cannot hold it.
using ElementBytes = std::array<std::byte, 16>;
ElementBytes element_bytes(const Scalar& value, DType dtype);

// Returns the element of a one-element tensor.
Scalar read_scalar(const Tensor& self);

}  // namespace uh
