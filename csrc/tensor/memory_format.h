// MemoryFormat: the order of a new tensor's elements in memory (PyTorch's memory_format).
//
// memory_formats.inc lists them. kPreserve copies the order of another tensor.
#pragma once

#include <cstdint>

#include "base/shape.h"

namespace uh {

struct Layout;
class Tensor;

enum class MemoryFormat : int8_t {
#define UH_MEMORY_FORMAT(enumerator, name) enumerator,
#include "tensor/memory_formats.inc"
#undef UH_MEMORY_FORMAT
  kUndefined = -1,  // the operator's default
};

// Dense strides of these sizes in a format other than kPreserve. Throws if the number of dimensions
// does not match: 4 for kChannelsLast, 5 for kChannelsLast3d.
Dims dense_strides(IntSpan sizes, MemoryFormat format);

bool is_contiguous(const Layout& layout, MemoryFormat format);
bool is_contiguous(const Tensor& self, MemoryFormat format);

// Returns `format`, or `fallback` if it is kUndefined.
inline MemoryFormat or_else(MemoryFormat format, MemoryFormat fallback) {
  return format == MemoryFormat::kUndefined ? fallback : format;
}

}  // namespace uh
