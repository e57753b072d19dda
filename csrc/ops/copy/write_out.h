// Moving elements between layouts and dtypes: what kernels of other families use as a tool.
//
// None of these use the dispatcher, check overlap or record events: the kernel that
// calls them answers for that.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

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

// Throws when an element of `dtype` cannot hold the number, as PyTorch does: a negative integer
// wraps into an unsigned dtype, a negative or fractional float beyond its ends does not.
void check_fits(const Scalar& value, DType dtype);

// A number as the bytes of one element. Throws when the dtype cannot hold it.
using ElementBytes = std::array<std::byte, 16>;
ElementBytes element_bytes(const Scalar& value, DType dtype);

// Sets every element of `self` to the given bytes.
void fill_elements(const Tensor& self, const ElementBytes& value);

// The tensor itself if it is contiguous and of that dtype, else a contiguous copy.
Tensor as_contiguous(const Tensor& self, DType dtype);
inline Tensor as_contiguous(const Tensor& self) { return as_contiguous(self, self.dtype()); }

// A contiguous copy; of a meta tensor its shape.
Tensor dense_copy(const Tensor& self);

// The single element of a one-element tensor.
Scalar read_scalar(const Tensor& self);

// Throws when `sizes` cannot be expanded to `target`.
void check_broadcasts_to(IntSpan sizes, IntSpan target, std::string_view op);

// Throws unless `out` has the dtype of the result: what PyTorch's out= asks of some operators.
void check_out_dtype(const Tensor& out, DType result_dtype, std::string_view op);

// The last step of out=: `out` takes the sizes of `result` if they differ, then its elements.
void write_out(const Tensor& out, const Tensor& result, std::string_view op);

// The same for an out= that has the dtype of the result, or is refused.
void write_exact_out(const Tensor& out, const Tensor& result, std::string_view op);

// The last step of an in-place form: `self` takes the elements of `result`, which must have its
// sizes.
void write_self(const Tensor& self, const Tensor& result, std::string_view op);

}  // namespace uh
