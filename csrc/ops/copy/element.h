// One element as a number, and a number as the bytes of one element.
#pragma once

#include <array>
#include <cstddef>

#include "tensor/tensor.h"

namespace uh {

// Throws when an element of `dtype` cannot hold the number, as PyTorch does: a negative integer
// wraps into an unsigned dtype, a negative or fractional float beyond its ends does not.
void check_fits(const Scalar& value, DType dtype);

// A number as the bytes of one element. Throws when the dtype cannot hold it.
using ElementBytes = std::array<std::byte, 16>;
ElementBytes element_bytes(const Scalar& value, DType dtype);

// The single element of a one-element tensor.
Scalar read_scalar(const Tensor& self);

}  // namespace uh
