// The memory format of the result of an image operator: that of its input.
#pragma once

#include "tensor/memory_format.h"
#include "tensor/tensor.h"

namespace uh {

// Returns kChannelsLast or kChannelsLast3d if only that format fits the strides, else kContiguous
// (PyTorch's suggest_memory_format).
inline MemoryFormat suggested_format(IntSpan sizes, IntSpan strides) {
  const size_t n = sizes.size();
  if ((n != 4 && n != 5) || strides[1] == 0) return MemoryFormat::kContiguous;
  int64_t min_value = 0;
  for (size_t i = 0; i < n; ++i) {
    const size_t d = i == 0 ? 1 : i == n - 1 ? 0 : n - i;  // C, W, H, (D,) N
    if (sizes[d] == 0 || strides[d] < min_value) return MemoryFormat::kContiguous;
    if (d == 0 && min_value == strides[1]) return MemoryFormat::kContiguous;
    min_value = strides[d];
    if (sizes[d] > 1) min_value *= sizes[d];
  }
  return n == 4 ? MemoryFormat::kChannelsLast : MemoryFormat::kChannelsLast3d;
}

inline MemoryFormat suggested_format(const Tensor& self) {
  return suggested_format(self.sizes(), self.strides());
}

// Returns a new tensor with the memory format of `self`.
inline Tensor empty_in_format_of(const Tensor& self, const Dims& sizes, DType dtype) {
  const MemoryFormat format = suggested_format(self);
  if (format == MemoryFormat::kContiguous || sizes.ndim() != self.ndim())
    return empty(sizes, dtype, self.device());
  checked_numel(sizes, "empty");
  return empty_strided(sizes, dense_strides(sizes, format), dtype, self.device());
}

}  // namespace uh
