// Copies of elements in host memory between layouts and dtypes, for all kernels.
//
// None of these use the dispatcher, check overlap or record events: the calling kernel is
// responsible.
#pragma once

#include <cstddef>

#include "ops/copy/any_device.h"
#include "ops/copy/element.h"
#include "ops/overlap.h"
#include "tensor/tensor.h"

namespace uh {

// Elements in memory that are not a tensor, such as part of one. Strides are in elements and may be
// negative (flip).
struct Strided {
  std::byte* data;
  DType dtype;
  Dims sizes, strides;

  Strided(std::byte* d, DType t, Dims size, Dims stride)
      : data(d), dtype(t), sizes(std::move(size)), strides(std::move(stride)) {}
  explicit Strided(const Tensor& t) : Strided(t.data(), t.dtype(), t.sizes(), t.strides()) {}
  // Moves the start by `elements`.
  Strided& advance(int64_t elements) {
    data += elements * itemsize(dtype);
    return *this;
  }
};

// dst[...] = src[...], converted; src must broadcast to dst's sizes (see check_broadcasts_to).
void copy_elements(const Strided& dst, const Strided& src);
void copy_elements(const Tensor& dst, const Tensor& src);

// Converts n contiguous elements between any two dtypes.
void cast_run(void* dst, DType to, const void* src, DType from, int64_t n);

// Converts n elements, `stride` apart, into a contiguous run.
void load_run(void* dst, DType to, const std::byte* src, DType from, int64_t stride, int64_t n);

// Sets every element of `self` to the given bytes.
void fill_elements(const Tensor& self, const ElementBytes& value);

// Returns the tensor itself if it is contiguous and has the dtype, else a contiguous copy.
Tensor as_contiguous(const Tensor& self, DType dtype);
inline Tensor as_contiguous(const Tensor& self) { return as_contiguous(self, self.dtype()); }

}  // namespace uh
