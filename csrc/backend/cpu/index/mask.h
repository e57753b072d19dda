// Masks: bool (or uint8) tensors that choose elements.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace uh {

// A mask of the elements that are not zero, of any dtype, as one byte per element in row-major
// order.
Tensor truth_bytes(const Tensor& self);

// The row-major places (not multi-indices) of the set bytes of a contiguous mask, as a 1-d int64
// tensor.
Tensor set_places(const Tensor& mask);

// Places in a shape -> one 1-d int64 index tensor per dimension.
std::vector<Tensor> places_to_indices(const Tensor& positions, IntSpan sizes);

// The same into n * sizes.size() int64, one run of n for each dimension. `places` ascend.
void split_places(const Tensor& positions, IntSpan sizes, int64_t* columns);

// The elements of contiguous `self` under a contiguous mask of as many elements, 1-d.
Tensor compressed(const Tensor& self, const Tensor& mask);

}  // namespace uh
