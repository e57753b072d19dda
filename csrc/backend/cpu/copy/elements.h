// Moves elements of host memory between layouts and dtypes: a tool of all kernels.
//
// None of these use the dispatcher, check overlap or record events: the kernel that
// calls them answers for that.
#pragma once

#include <cstddef>

#include "ops/copy/any_device.h"
#include "ops/copy/element.h"
#include "ops/overlap.h"
#include "tensor/tensor.h"

namespace uh {

// Elements in memory, without being a tensor: what a kernel makes of part of one. Strides may be
// negative (flip); they count elements.
struct Strided {
  std::byte* data;
  DType dtype;
  Dims sizes, strides;

  Strided(std::byte* d, DType t, Dims size, Dims stride)
      : data(d), dtype(t), sizes(std::move(size)), strides(std::move(stride)) {}
  explicit Strided(const Tensor& t) : Strided(t.data(), t.dtype(), t.sizes(), t.strides()) {}
  // The same elements starting `elements` further on.
  Strided& advance(int64_t elements) {
    data += elements * itemsize(dtype);
    return *this;
  }
};

// dst[...] = src[...], converted; src must broadcast to dst's sizes (see check_broadcasts_to).
void copy_elements(const Strided& dst, const Strided& src);
inline void copy_elements(const Tensor& dst, const Tensor& src) {
  copy_elements(Strided(dst), Strided(src));
}

// n contiguous elements converted between any two dtypes.
void cast_run(void* dst, DType to, const void* src, DType from, int64_t n);

// n elements `stride` apart, converted into a contiguous run.
void load_run(void* dst, DType to, const std::byte* src, DType from, int64_t stride, int64_t n);

// Sets every element of `self` to the given bytes.
void fill_elements(const Tensor& self, const ElementBytes& value);

// The tensor itself if it is contiguous and of that dtype, else a contiguous copy.
Tensor as_contiguous(const Tensor& self, DType dtype);
inline Tensor as_contiguous(const Tensor& self) { return as_contiguous(self, self.dtype()); }

}  // namespace uh
