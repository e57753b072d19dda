// The operators of creation.yaml that set every element to one value.
#include <cstring>

#include "backend/cpu/copy/elements.h"
#include "generated/kernels/creation.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "memory/device_registry.h"
#include "ops/copy/write_out.h"
#include "ops/creation/options.h"

namespace uh::kernels {
namespace {

Tensor filled(Tensor out, const Scalar& value) {
  const ElementBytes bytes = element_bytes(value, out.dtype());
  if (out.is_meta()) return out;
  if (!is_host(out.device())) {
    ops::fill__Scalar(out, value);
    return out;
  }
  fill_elements(out, bytes);
  record_write(out);
  return out;
}

// Zero is all zero bytes in every dtype, so memset suffices for small tensors.
Tensor zeroed(Tensor out) {
  constexpr size_t kSmall = 4096;
  const auto bytes = static_cast<size_t>(out.numel() * itemsize(out.dtype()));
  if (!is_host(out.device()) || bytes > kSmall || !out.is_contiguous())
    return filled(std::move(out), 0);
  if (bytes) std::memset(out.data(), 0, bytes);
  record_write(out);
  return out;
}

}  // namespace

Tensor empty_sized(KeySet, const Dims& size, DType dtype, Device device, MemoryFormat format) {
  return empty(size, or_default(dtype), or_cpu(device), format);
}

Tensor empty_strided_sized(KeySet, const Dims& size, const Dims& stride, DType dtype,
                           Device device) {
  return empty_strided(size, stride, or_default(dtype), or_cpu(device));
}

Tensor zeros(KeySet, const Dims& size, DType dtype, Device device) {
  return zeroed(empty(size, or_default(dtype), or_cpu(device)));
}

Tensor ones(KeySet, const Dims& size, DType dtype, Device device) {
  return filled(empty(size, or_default(dtype), or_cpu(device)), 1);
}

Tensor full(KeySet, const Dims& size, const Scalar& fill_value, DType dtype, Device device) {
  const DType own = fill_value.dtype(default_dtype());
  return filled(empty(size, dtype == DType::kUndefined ? own : dtype, or_cpu(device)), fill_value);
}

Tensor empty_like_tensor(KeySet, const Tensor& self, DType dtype, Device device,
                         MemoryFormat format) {
  return empty_like(self, like(dtype, self), like(device, self), format);
}

Tensor zeros_like(KeySet, const Tensor& self, DType dtype, Device device, MemoryFormat format) {
  return zeroed(empty_like(self, like(dtype, self), like(device, self), format));
}

Tensor ones_like(KeySet, const Tensor& self, DType dtype, Device device, MemoryFormat format) {
  return filled(empty_like(self, like(dtype, self), like(device, self), format), 1);
}

Tensor full_like(KeySet, const Tensor& self, const Scalar& fill_value, DType dtype, Device device,
                 MemoryFormat format) {
  return filled(empty_like(self, like(dtype, self), like(device, self), format), fill_value);
}

Tensor new_empty(KeySet, const Tensor& self, const Dims& size, DType dtype, Device device) {
  return empty(size, like(dtype, self), like(device, self));
}

Tensor new_zeros(KeySet, const Tensor& self, const Dims& size, DType dtype, Device device) {
  return zeroed(empty(size, like(dtype, self), like(device, self)));
}

Tensor new_ones(KeySet, const Tensor& self, const Dims& size, DType dtype, Device device) {
  return filled(empty(size, like(dtype, self), like(device, self)), 1);
}

Tensor new_full(KeySet, const Tensor& self, const Dims& size, const Scalar& fill_value, DType dtype,
                Device device) {
  return filled(empty(size, like(dtype, self), like(device, self)), fill_value);
}

Tensor scalar_tensor(KeySet, const Scalar& s, DType dtype, Device device) {
  return filled(empty(IntSpan(), or_default(dtype), or_cpu(device)), s);
}

void zeros_out(KeySet, const Dims& size, const Tensor& out) {
  write_out(out, ops::zeros(size, out.dtype(), out.device()), "zeros");
}

void ones_out(KeySet, const Dims& size, const Tensor& out) {
  write_out(out, ops::ones(size, out.dtype(), out.device()), "ones");
}

void full_out(KeySet, const Dims& size, const Scalar& fill_value, const Tensor& out) {
  write_out(out, ops::full(size, fill_value, out.dtype(), out.device()), "full");
}

void arange_out(KeySet keys, const Scalar& end, const Tensor& out) {
  arange_start_out(keys, Scalar(0), end, Scalar(1), out);
}

void arange_start_out(KeySet, const Scalar& start, const Scalar& end, const Scalar& step,
                      const Tensor& out) {
  write_out(out, ops::arange(start, end, step, out.dtype(), out.device()), "arange");
}

void linspace_out(KeySet, const Scalar& start, const Scalar& end, int64_t steps,
                  const Tensor& out) {
  write_out(out, ops::linspace(start, end, steps, out.dtype(), out.device()), "linspace");
}

void eye_out(KeySet, int64_t n, const Tensor& out) {
  write_out(out, ops::eye(n, std::nullopt, out.dtype(), out.device()), "eye");
}

void eye_m_out(KeySet, int64_t n, int64_t m, const Tensor& out) {
  write_out(out, ops::eye(n, m, out.dtype(), out.device()), "eye");
}

}  // namespace uh::kernels
