// The operators of copy.yaml.
#include "backend/cpu/copy/elements.h"
#include "ops/copy/write_out.h"

#include "backend/cpu/copy_loops.h"
#include "backend/cpu/tensor_iterator.h"
#include "base/parallel.h"
#include "generated/kernels/copy.h"
#include "generated/ops/copy.h"
#include "ops/geometry.h"
#include "tensor/dense.h"

namespace uh::kernels {
namespace {

// For elements that share memory the last write wins, so they are written in the order of pointwise
// operators, as in PyTorch.
void copy_in_order(const Tensor& self, const Tensor& src) {
  TensorIterator space(self.sizes());
  space.add(self);
  space.add(src);
  space.reorder(space.order());
  space.for_each([&](char* const* data, const int64_t* strides, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      cast_run(data[0] + i * strides[0], self.dtype(), data[1] + i * strides[1], src.dtype(), 1);
    }
  });
  record_write(self);
}

Tensor copied(const Tensor& self, const Tensor& out) {
  if (out.is_meta()) return out;
  check_kind(!self.is_meta(), ErrorKind::kNotImplemented,
             "cannot copy out of meta tensor; no data!");
  copy_elements(out, self);
  record_write(out);
  return out;
}

Scalar single_value(const Tensor& value, std::string_view op) {
  check(value.ndim() == 0, op, " only supports a 0-dimensional value tensor, but got tensor with ",
        value.ndim(), " dimension(s): ", value.sizes());
  return value.is_meta() ? Scalar(0) : read_scalar(value);
}

}  // namespace

void copy(KeySet, const Tensor& self, const Tensor& src, bool) {
  check_broadcasts_to(src.sizes(), self.sizes(), "copy_");
  if (self.is_same(src)) return;
  if (describes_same(self, src)) {
    if (!self.is_meta()) self.data();  // throws if the storage has been resized to too few bytes
    return;
  }
  check_no_internal_overlap(self, "copy_");
  if (self.is_meta()) return;
  check_no_partial_overlap(self, src, "copy_");
  const Tensor source = reads_elsewhere(self, src) ? ops::clone(src, MemoryFormat::kPreserve) : src;
  const bool shares = !self.is_contiguous() && !is_non_overlapping(self.impl()->layout());
  if (shares && !source.is_meta()) return copy_in_order(self, source);
  copied(source, self);
}

Tensor clone(KeySet, const Tensor& self, MemoryFormat format) {
  return copied(self, empty_like(self, self.dtype(), self.device(), format));
}

Tensor contiguous(KeySet, const Tensor& self, MemoryFormat format) {
  check(format != MemoryFormat::kPreserve,
        "contiguous: preserve memory format is unsupported by the contiguous operator");
  if (is_contiguous(self, format)) return self;
  return ops::clone(self, or_else(format, MemoryFormat::kContiguous));
}

Tensor to_copy(KeySet, const Tensor& self, DType dtype, Device device, MemoryFormat format) {
  const DType target = dtype == DType::kUndefined ? self.dtype() : dtype;
  const Device target_device = device == Device::kUndefined ? self.device() : device;
  check_kind(!self.is_meta() || target_device == Device::kMeta, ErrorKind::kNotImplemented,
             "cannot copy out of meta tensor; no data!");
  return copied(self, empty_like(self, target, target_device, format));
}

// Elements may share memory: all get the same value.
void fill_scalar(KeySet, const Tensor& self, const Scalar& value) {
  const ElementBytes bytes = element_bytes(value, self.dtype());
  if (self.is_meta()) return;
  fill_elements(self, bytes);
  record_write(self);
}

void fill_tensor(KeySet keys, const Tensor& self, const Tensor& value) {
  check(value.ndim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ",
        value.ndim(), " dimensions.");
  check_no_internal_overlap(self, "fill_");
  // It is copied, so that an integer wraps; a number that does not fit is an error.
  const bool converts = value.dtype() != self.dtype() && value.device() == self.device();
  const Tensor element = converts ? to_copy(keys, value, self.dtype(), Device::kUndefined,
                                            MemoryFormat::kPreserve)
                                  : value;
  fill_scalar(keys, self, single_value(element, "fill_"));
}

void zero(KeySet keys, const Tensor& self) { fill_scalar(keys, self, Scalar(0)); }

}  // namespace uh::kernels
