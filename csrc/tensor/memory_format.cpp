#include "tensor/memory_format.h"

#include "tensor/dense.h"
#include "tensor/tensor.h"

namespace uh {
namespace {

// The dimensions from the outermost to the innermost in memory.
Dims memory_order(size_t ndim, MemoryFormat format) {
  Dims order(ndim);
  for (size_t i = 0; i < ndim; ++i) order[i] = static_cast<int64_t>(i);
  if (format == MemoryFormat::kContiguous) return order;
  for (size_t i = 1; i + 1 < ndim; ++i) order[i] = static_cast<int64_t>(i + 1);
  order[ndim - 1] = 1;  // channels
  return order;
}

size_t wanted_rank(MemoryFormat format) { return format == MemoryFormat::kChannelsLast ? 4 : 5; }

}  // namespace

Dims dense_strides(IntSpan sizes, MemoryFormat format) {
  check(format == MemoryFormat::kContiguous || format == MemoryFormat::kChannelsLast ||
            format == MemoryFormat::kChannelsLast3d,
        "unsupported memory format option ", static_cast<int>(format));
  check(format == MemoryFormat::kContiguous || sizes.size() == wanted_rank(format),
        "required rank ", wanted_rank(format), " tensor to use channels_last format, got sizes ",
        printed(sizes));
  const Dims order = memory_order(sizes.size(), format);
  Dims strides(sizes.size());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

bool is_contiguous(const Layout& layout, MemoryFormat format) {
  if (format == MemoryFormat::kContiguous || format == MemoryFormat::kUndefined)
    return is_contiguous(layout);
  check(format != MemoryFormat::kPreserve, "preserve memory format is unsupported here");
  const size_t ndim = layout.sizes.size();
  if (ndim != wanted_rank(format)) return false;
  int64_t expected = 1;
  const Dims order = memory_order(ndim, format);
  for (size_t i = ndim; i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    if (layout.sizes[d] == 1) continue;
    if (layout.strides[d] != expected) return false;
    expected *= layout.sizes[d];
  }
  return true;
}

bool is_contiguous(const Tensor& self, MemoryFormat format) {
  if (format == MemoryFormat::kContiguous || format == MemoryFormat::kUndefined)
    return self.is_contiguous();
  return is_contiguous(self.impl()->layout(), format);
}

}  // namespace uh
