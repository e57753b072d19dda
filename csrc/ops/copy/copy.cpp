// The operators of copy.yaml.
#include "ops/copy/copy.h"

#include "base/parallel.h"
#include "generated/kernels/copy.h"
#include "ops/kernel/copy_loops.h"
#include "ops/kernel/geometry.h"

namespace uh::kernels {
namespace {

constexpr int64_t kContiguousFormat = 0;
constexpr int64_t kPreserveFormat = 1;

Tensor copied(const Tensor& self, const Tensor& out) {
  if (out.is_meta()) return out;
  check_kind(!self.is_meta(), ErrorKind::kNotImplemented,
             "cannot copy out of meta tensor; no data!");
  copy_elements(out, self);
  record_write(out);
  return out;
}

void check_mask(const Tensor& mask, std::string_view op) {
  check(mask.dtype() == DType::kBool, op, " only supports boolean masks, but got mask with dtype ",
        name(mask.dtype()));
}

Scalar single_value(const Tensor& value, std::string_view op) {
  check(value.ndim() == 0, op, " only supports a 0-dimensional value tensor, but got tensor with ",
        value.ndim(), " dimension(s): ", value.sizes());
  return value.is_meta() ? Scalar(0) : read_scalar(value);
}

}  // namespace

void copy(KeySet, const Tensor& self, const Tensor& src, bool) {
  check_broadcasts_to(src.sizes(), self.sizes(), "copy_");
  check_no_internal_overlap(self, "copy_");
  if (self.is_same(src) || self.is_meta()) return;
  check_no_partial_overlap(self, src, "copy_");
  copied(src, self);
}

Tensor clone(KeySet, const Tensor& self, std::optional<int64_t> memory_format) {
  const int64_t format = memory_format.value_or(kPreserveFormat);
  check(format == kContiguousFormat || format == kPreserveFormat, "clone: unknown memory_format ",
        format, ": expected contiguous_format (0) or preserve_format (1)");
  if (format == kPreserveFormat) return copied(self, empty_like(self, self.dtype()));
  return copied(self, empty(self.sizes(), self.dtype(), self.device()));
}

Tensor contiguous(KeySet, const Tensor& self) {
  if (self.is_contiguous()) return self;
  return copied(self, empty(self.sizes(), self.dtype(), self.device()));
}

Tensor to_copy(KeySet, const Tensor& self, DType dtype, Device device, bool contiguous) {
  const DType target = dtype == DType::kUndefined ? self.dtype() : dtype;
  const Device where = device == Device::kUndefined ? self.device() : device;
  if (contiguous) return copied(self, empty(self.sizes(), target, where));
  return copied(self, empty_like(self, target, where));
}

// Elements that share memory may be filled: they all get the same value.
void fill_scalar(KeySet, const Tensor& self, const Scalar& value) {
  const ElementBytes bytes = element_bytes(value, self.dtype());
  if (self.is_meta()) return;
  fill_elements(self, bytes);
  record_write(self);
}

void fill_tensor(KeySet keys, const Tensor& self, const Tensor& value) {
  check(value.ndim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ",
        value.ndim(), " dimensions.");
  fill_scalar(keys, self, single_value(value, "fill_"));
}

void zero(KeySet keys, const Tensor& self) { fill_scalar(keys, self, Scalar(0)); }

void masked_fill_inplace(KeySet, const Tensor& self, const Tensor& mask, const Scalar& value) {
  check_mask(mask, "masked_fill_");
  check_broadcasts_to(mask.sizes(), self.sizes(), "masked_fill_");
  check_no_internal_overlap(self, "masked_fill_");
  const ElementBytes bytes = element_bytes(value, self.dtype());
  if (self.is_meta() || self.numel() == 0) return;
  const Dims mask_strides = broadcast_strides(mask.sizes(), mask.strides(), self.sizes().size());
  const auto g = make_geometry<2>(self.sizes(), {self.strides(), mask_strides});
  const int64_t item = itemsize(self.dtype());
  const auto fill = copy_loops().masked_fill[size_class(item)];
  parallel_for(0, g.rows(), std::max<int64_t>(1, 32768 / g.row()), [&](int64_t lo, int64_t hi) {
    for_rows(g, lo, hi, [&](const auto& at) {
      fill(self.data() + at[0] * item, g.row_stride(0), mask.data_as<uint8_t>() + at[1],
           g.row_stride(1), bytes.data(), g.row());
    });
  });
  record_write(self);
}

void masked_fill_inplace_tensor(KeySet keys, const Tensor& self, const Tensor& mask,
                                const Tensor& value) {
  masked_fill_inplace(keys, self, mask, single_value(value, "masked_fill_"));
}

Tensor masked_fill(KeySet keys, const Tensor& self, const Tensor& mask, const Scalar& value) {
  check_mask(mask, "masked_fill");
  const Dims sizes = broadcast_shapes(self.sizes(), mask.sizes());
  Tensor out = sizes == self.sizes() ? empty_like(self, self.dtype())
                                     : empty(sizes, self.dtype(), self.device());
  if (!out.is_meta()) copy_elements(out, self);
  masked_fill_inplace(keys, out, mask, value);
  return out;
}

Tensor masked_fill_tensor(KeySet keys, const Tensor& self, const Tensor& mask,
                          const Tensor& value) {
  return masked_fill(keys, self, mask, single_value(value, "masked_fill"));
}

}  // namespace uh::kernels
