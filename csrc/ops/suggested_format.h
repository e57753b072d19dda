// The memory format of the result of an image operator: that of its input.
#pragma once

#include "tensor/memory_format.h"
#include "tensor/tensor.h"

namespace uh {

// Returns kChannelsLast or kChannelsLast3d if only that format fits the strides, else kContiguous
// (PyTorch's suggest_memory_format).
inline MemoryFormat suggested_format(const Tensor& self) {
  const int64_t n = self.ndim();
  if ((n != 4 && n != 5) || self.stride(1) == 0) return MemoryFormat::kContiguous;
  int64_t min_value = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t d = i == 0 ? 1 : i == n - 1 ? 0 : n - i;  // C, W, H, (D,) N
    if (self.size(d) == 0 || self.stride(d) < min_value) return MemoryFormat::kContiguous;
    if (d == 0 && min_value == self.stride(1)) return MemoryFormat::kContiguous;
    min_value = self.stride(d);
    if (self.size(d) > 1) min_value *= self.size(d);
  }
  return n == 4 ? MemoryFormat::kChannelsLast : MemoryFormat::kChannelsLast3d;
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
