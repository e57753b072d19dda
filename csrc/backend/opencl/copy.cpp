#include "backend/opencl/copy.h"

#include "backend/opencl/elementwise.h"
#include "backend/opencl/transfer.h"
#include "generated/ops/copy.h"
#include "memory/device_registry.h"
#include "ops/copy/element.h"
#include "ops/copy/write_out.h"
#include "ops/overlap.h"

namespace uh::opencl {
namespace {

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         is_dense(a) && is_dense(b);
}

size_t span_of(const Tensor& t) {
  const ByteSpan span = byte_span(t);
  return static_cast<size_t>(span.hi - span.lo);
}

Elementwise make_copy(const void* context) {
  return {.name = "copy_", .functions = static_cast<const char*>(context), .defines = {}};
}

Elementwise make_fill(const void*) {
  return {.name = "fill_", .functions = "O apply(O value) { return value; }\n", .defines = {}};
}

// The same layout on another device.
Tensor dense_on(const Tensor& like, Device device) {
  return empty_strided(like.sizes(), like.strides(), like.dtype(), device);
}

// True if the device has both dtypes; otherwise the host converts.
bool converts(const Tensor& to, DType from) {
  return has_dtype(to.device(), from) && has_dtype(to.device(), to.dtype());
}

void copy_in(const Tensor& self, const Tensor& src, bool non_blocking) {
  OpenclDevice& device = device_of(self.device());
  if (same_bytes(self, src))
    return write(self.address(), src.data(), span_of(src), device, non_blocking);
  if (!converts(self, src.dtype())) {
    Tensor host = dense_on(self, Device::kCPU);
    if (!is_dense(self))
      read(host.data(), self.address(), span_of(self), device, "a copy with gaps");
    ops::copy_(host, src, false);
    return write(self.address(), host.data(), span_of(host), device);
  }
  // The bytes are transferred unchanged; the device then converts and places the elements.
  const Tensor dense = is_dense(src) ? src : ops::clone(src, MemoryFormat::kContiguous);
  const Tensor device_copy = dense_on(dense, self.device());
  write(device_copy.address(), dense.data(), span_of(dense), device, non_blocking);
  copy_elements(self, device_copy);
}

void copy_out(const Tensor& self, const Tensor& src, bool non_blocking) {
  OpenclDevice& device = device_of(src.device());
  if (same_bytes(self, src))
    return read(self.data(), src.address(), span_of(src), device, "a copy to the host",
                non_blocking);
  const Tensor dense = is_dense(src) ? src : ops::clone(src, MemoryFormat::kContiguous);
  const Tensor host_copy = dense_on(dense, Device::kCPU);
  read(host_copy.data(), dense.address(), span_of(dense), device, "a copy to the host");
  ops::copy_(self, host_copy, false);
}

void copy_between_devices(const Tensor& self, const Tensor& src) {
  const Tensor dense = is_dense(src) ? src : ops::clone(src, MemoryFormat::kContiguous);
  const Tensor device_copy = same_bytes(self, dense) ? self : dense_on(dense, self.device());
  opencl::copy_bytes(device_copy.address(), self.device(), dense.address(), dense.device(),
                     span_of(dense));
  if (!device_copy.is_same(self)) copy_elements(self, device_copy);
}

}  // namespace

// Floats become narrow integers by way of int: values out of range wrap around, as on the CPU.
const char* conversion(DType to, DType from) {
  if (from == to) return "O apply(A0 x) { return x; }\n";
  if (is_complex(to)) {
    return is_complex(from) ? "O apply(A0 x) { return (O)(x.x, x.y); }\n"
                            : "O apply(A0 x) { return (O)(x, 0); }\n";
  }
  const bool narrow = is_integral(to) && itemsize(to) < 4 && is_inexact(from);
  if (is_complex(from)) {
    return to == DType::kBool ? "O apply(A0 x) { return x.x != 0 || x.y != 0; }\n"
           : narrow           ? "O apply(A0 x) { return (O)(int)x.x; }\n"
                              : "O apply(A0 x) { return (O)x.x; }\n";
  }
  if (to == DType::kBool) return "O apply(A0 x) { return x != 0; }\n";
  return narrow ? "O apply(A0 x) { return (O)(int)x; }\n" : "O apply(A0 x) { return (O)x; }\n";
}

void copy_elements(const Tensor& to, const Tensor& from) {
  if (to.numel() == 0) return;
  if (same_bytes(to, from) && to.storage() != from.storage())
    return copy_within(to.address(), from.address(), span_of(from), device_of(to.device()));
  const char* const text = conversion(to.dtype(), from.dtype());
  run_elementwise({.operation = text,
                   .compute = to.dtype(),
                   .make = make_copy,
                   .context = text,
                   .results = std::span(&to, 1),
                   .operands = std::span(&from, 1),
                   .numbers = {},
                   .order = {}});
}

void copy(KeySet, const Tensor& self, const Tensor& src, bool non_blocking) {
  check_broadcasts_to(src.sizes(), self.sizes(), "copy_");
  check_kind(!src.is_meta(), ErrorKind::kNotImplemented,
             "cannot copy out of meta tensor; no data!");
  if (self.is_same(src) || self.numel() == 0 || describes_same(self, src)) return;
  check_no_internal_overlap(self, "copy_");
  if (is_host(src.device())) {
    copy_in(self, src, non_blocking);
  } else if (is_host(self.device())) {
    copy_out(self, src, non_blocking);
  } else if (!(self.device() == src.device())) {
    copy_between_devices(self, src);
  } else if (!converts(self, src.dtype())) {
    ops::copy_(self, ops::_to_copy(src, DType::kUndefined, Device::kCPU, MemoryFormat::kUndefined),
               false);
  } else {
    check_no_partial_overlap(self, src, "copy_");
    copy_elements(self,
                  reads_elsewhere(self, src) ? ops::clone(src, MemoryFormat::kPreserve) : src);
  }
  record_write(self);
}

Tensor to_copy(KeySet keys, const Tensor& self, DType dtype, Device device, MemoryFormat format) {
  const DType target = dtype == DType::kUndefined ? self.dtype() : dtype;
  Tensor out =
      empty_like(self, target, device == Device::kUndefined ? self.device() : device, format);
  if (!out.is_meta()) copy(keys, out, self, false);
  return out;
}

Tensor clone(KeySet keys, const Tensor& self, MemoryFormat format) {
  return to_copy(keys, self, DType::kUndefined, Device::kUndefined, format);
}

void fill(KeySet, const Tensor& self, const Scalar& value) {
  check_fits(value, self.dtype());
  if (self.numel() == 0) return;
  if (!has_dtype(self.device(), self.dtype())) {  // its bytes are copied, without computing
    const Tensor host = dense_on(self, Device::kCPU);
    ops::fill__Scalar(host, value);
    write(self.address(), host.data(), span_of(host), device_of(self.device()));
    return record_write(self);
  }
  static constexpr char kOperation = 0;
  const Number number = number_of(self.dtype(), value);
  run_elementwise({.operation = &kOperation,
                   .compute = self.dtype(),
                   .make = make_fill,
                   .context = nullptr,
                   .results = std::span(&self, 1),
                   .operands = {},
                   .numbers = std::span(&number, 1),
                   .order = {}});
  record_write(self);
}

void fill_from(KeySet keys, const Tensor& self, const Tensor& value) {
  check(value.ndim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ",
        value.ndim(), " dimensions.");
  check_no_internal_overlap(self, "fill_");
  copy(keys, self, value, false);
}

Tensor contiguous(const Tensor& t, DType dtype) {
  const DType requested = dtype == DType::kUndefined ? t.dtype() : dtype;
  if (t.is_contiguous() && t.dtype() == requested) return t;
  const Tensor dense = empty(t.sizes(), requested, t.device());
  copy(KeySet(), dense, t, false);
  return dense;
}

void zero(KeySet keys, const Tensor& self) { fill(keys, self, Scalar(0)); }

}  // namespace uh::opencl
