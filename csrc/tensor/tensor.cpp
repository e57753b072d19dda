#include "tensor/tensor.h"

#include <algorithm>
#include <array>

#include "memory/device_registry.h"
#include "memory/foreign_writes.h"
#include "tensor/call_scope.h"
#include "tensor/dense.h"
#include "tensor/sparse_parts.h"
#include "tensor/stride_order.h"

namespace uh {
namespace {

std::atomic<DType> g_default_dtype{DType::kFloat32};

// The number of elements up to the last one that a layout touches, which its Storage needs.
int64_t extent(IntSpan sizes, IntSpan strides) {
  int64_t end = 1;
  bool overflow = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    int64_t reach = 0;
    overflow = __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
               __builtin_add_overflow(end, reach, &end) || overflow;
  }
  check(!overflow, "empty_strided: storage size calculation overflowed with sizes=", printed(sizes),
        " and strides=", printed(strides));
  return end;
}

Tensor fresh(Layout layout, int64_t elements, DType dtype, Device device) {
  int64_t bytes = 0;
  check(!__builtin_mul_overflow(elements, itemsize(dtype), &bytes),
        "empty: storage size calculation overflowed with sizes=", layout.sizes);
  device = with_index(device);
  auto storage = make_ref<Storage>(static_cast<size_t>(bytes), allocator_of(device), device);
  return Tensor(make_ref<TensorImpl>(std::move(storage), std::move(layout), dtype));
}

}  // namespace

DType default_dtype() { return g_default_dtype.load(std::memory_order_relaxed); }
void set_default_dtype(DType dtype) {
  check_kind(is_floating(dtype), ErrorKind::kType,
             "set_default_dtype: only floating-point types are supported as the default type, got ",
             name(dtype));
  g_default_dtype = dtype;
}

Tensor empty(IntSpan sizes, DType dtype, Device device) {
  const int64_t n = checked_numel(sizes, "empty");
  return fresh({Dims(sizes), contiguous_strides(sizes), 0}, n, dtype, device);
}

Tensor empty_dense(const Layout& dense, int64_t numel, DType dtype) {
  auto storage = make_ref<Storage>(static_cast<size_t>(numel * itemsize(dtype)),
                                   allocator_of(Device::kCPU), Device::kCPU);
  return Tensor(
      make_ref<TensorImpl>(std::move(storage), Layout{dense.sizes, dense.strides, 0}, dtype));
}

Tensor empty_strided(IntSpan sizes, IntSpan strides, DType dtype, Device device) {
  checked_numel(sizes, "empty_strided");
  check(sizes.size() == strides.size(), "empty_strided: dimensionality of sizes (", sizes.size(),
        ") must match dimensionality of strides (", strides.size(), ")");
  for (int64_t s : strides) {
    check(s >= 0, "empty_strided: negative strides are not supported, got strides ",
          printed(strides));
  }
  return fresh({Dims(sizes), Dims(strides), 0}, extent(sizes, strides), dtype, device);
}

Tensor empty(IntSpan sizes, DType dtype, Device device, MemoryFormat format) {
  format = or_else(format, MemoryFormat::kContiguous);
  if (format == MemoryFormat::kContiguous) return empty(sizes, dtype, device);
  checked_numel(sizes, "empty");
  return empty_strided(sizes, dense_strides(sizes, format), dtype, device);
}

Tensor empty_like(const Tensor& self, DType dtype, Device device, MemoryFormat format) {
  if (or_else(format, MemoryFormat::kPreserve) == MemoryFormat::kPreserve)
    return empty_like(self, dtype, device);
  return empty(self.sizes(), dtype, device, format);
}

Tensor empty_like(const Tensor& self, DType dtype) {
  return empty_like(self, dtype, self.device());
}

Dims strides_like(const Layout& layout) {
  // Dense: the same strides, including those of dimensions of size 1. An empty tensor is dense,
  // too.
  if (numel_of(layout.sizes) == 0 || is_dense(layout)) return layout.strides;
  if (is_contiguous(layout)) return contiguous_strides(layout.sizes);
  // Keep the order of the dimensions and remove the gaps.
  struct Operand {
    IntSpan strides;
  };
  const Dims order = stride_order(layout.sizes, std::array{Operand{layout.strides}});
  return dense_strides(layout.sizes, order);
}

Tensor empty_like(const Tensor& self, DType dtype, Device device) {
  return empty_strided(self.sizes(), strides_like(self.impl()->layout()), dtype, device);
}

Tensor alias(const Tensor& self, Layout layout) {
  return alias(self, std::move(layout), self.dtype(), self.impl()->own_counter());
}

Tensor alias(const Tensor& self, Layout layout, DType dtype, Ref<OwnCounter> own) {
  auto result = self.impl()->sparse()
                    ? make_ref<TensorImpl>(self.impl()->storage_ref(), std::move(layout), dtype,
                                           std::move(own), *self.impl()->sparse())
                    : make_ref<TensorImpl>(self.impl()->storage_ref(), std::move(layout), dtype,
                                           std::move(own));
  // A view tracks versions if its base does.
  result->set_inference(self.impl()->is_inference());
  return Tensor(std::move(result));
}

ByteSpan byte_span(const Tensor& self) {
  const int64_t first = self.offset() * itemsize(self.dtype());
  return {first, first + extent(self.sizes(), self.strides()) * itemsize(self.dtype())};
}

void record_write(const Tensor& self) {
  if (!events::on()) [[likely]]
    return;
  if (!self || self.impl()->sparse()) return;  // not requested, or it has no bytes
  const ByteSpan span = byte_span(self);
  if (span.hi <= span.lo) return;
  if (!is_host(self.device())) {  // the host cannot read its bytes
    events::emit(events::Kind::kWRITE, self.storage()->id(), self.id(), span.lo, span.hi,
                 current_call());
    return;
  }
  foreign_writes::refresh(self.storage());
  events::emit(events::Kind::kWRITE, self.storage()->id(), self.id(), span.lo, span.hi,
               current_call());
  events::capture_values({self.storage()->id(),
                          static_cast<const std::byte*>(self.storage()->data()), span.lo, span.hi,
                          static_cast<int>(self.dtype())});
}

namespace {

// The dimensions with more than one element, smallest stride first.
Dims by_stride(const Layout& layout) {
  Dims order;
  for (size_t d = 0; d < layout.sizes.size(); ++d) {
    if (layout.sizes[d] > 1) order.push_back(static_cast<int64_t>(d));
  }
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return layout.strides[static_cast<size_t>(a)] < layout.strides[static_cast<size_t>(b)];
  });
  return order;
}

}  // namespace

bool is_dense(const Tensor& self) {
  return (self.is_contiguous() && self.numel() > 0) || is_dense(self.impl()->layout());
}

bool is_dense(const Layout& layout) {
  int64_t expected = 1;
  for (int64_t dim : by_stride(layout)) {
    const auto d = static_cast<size_t>(dim);
    if (layout.strides[d] != expected) return false;
    expected *= layout.sizes[d];
  }
  return true;
}

bool is_non_overlapping(const Layout& layout) {
  int64_t reach = 0;
  for (int64_t dim : by_stride(layout)) {
    const auto d = static_cast<size_t>(dim);
    if (layout.strides[d] <= reach) return false;
    reach += layout.strides[d] * (layout.sizes[d] - 1);
  }
  return true;
}

bool has_internal_overlap(const Tensor& self) {
  if (self.is_contiguous()) return false;
  for (int64_t d = 0; d < self.ndim(); ++d) {
    if (self.size(d) > 1 && self.stride(d) == 0) return true;
  }
  return false;
}

}  // namespace uh
