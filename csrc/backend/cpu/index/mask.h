// Masks: bool (or uint8) tensors that select elements.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace uh {

// Returns a row-major mask of the non-zero elements of any dtype, one byte per element.
Tensor truth_bytes(const Tensor& self);

// Returns the row-major linear positions of the set bytes of a contiguous mask, as a 1-d int64
// tensor.
Tensor set_places(const Tensor& mask);

// Converts linear positions to one 1-d int64 index tensor per dimension.
std::vector<Tensor> places_to_indices(const Tensor& positions, IntSpan sizes);

// The same into n * sizes.size() int64, one run of n per dimension. `positions` ascend.
void split_places(const Tensor& positions, IntSpan sizes, int64_t* columns);

// Returns the elements of contiguous `self` under a contiguous mask of the same size, 1-d.
Tensor compressed(const Tensor& self, const Tensor& mask);

}  // namespace uh
