// The operators of reshaping.yaml.
#include "generated/kernels/reshaping.h"
#include "base/call_section.h"

#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/reduce.h"
#include "generated/ops/reshaping.h"
#include "generated/ops/view.h"
#include "ops/suggested_format.h"

namespace uh::kernels {

Tensor sum_to_size(KeySet, const Tensor& self, const Dims& size) {
  const int64_t leading = self.ndim() - size.ndim();
  Dims dims;
  bool fits = leading >= 0;
  for (int64_t d = 0; fits && d < self.ndim(); ++d) {
    const int64_t target = d < leading ? 1 : size[static_cast<size_t>(d - leading)];
    if (d < leading || (target == 1 && self.size(d) != 1)) dims.push_back(d);
    fits = d < leading || target == 1 || target == self.size(d);
  }
  check(fits, "sum_to_size: size {", size, "} is not expandable to size {", self.sizes(), "}");
  if (size.empty()) return ops::sum(self, std::nullopt, false, DType::kUndefined);
  if (dims.empty()) return self;
  const Tensor sum = ops::sum(self, dims, true, DType::kUndefined);
  return leading > 0 ? ops::view(sum, size) : sum;
}

Tensor reshape_as(KeySet, const Tensor& self, const Tensor& other) {
  return ops::reshape(self, other.sizes());
}

void resize_as_(KeySet, const Tensor& self, const Tensor& the_template, MemoryFormat format) {
  const Change change(self.impl());
  ops::resize_(self, the_template.sizes());
  if (format == MemoryFormat::kUndefined) return;
  if (format == MemoryFormat::kPreserve) format = suggested_format(the_template);
  self.impl()->set_layout(Layout{self.sizes(), dense_strides(self.sizes(), format), self.offset()});
}

void fill_diagonal_(KeySet, const Tensor& self, const Scalar& fill_value, bool wrap) {
  check(self.ndim() >= 2, "fill_diagonal_: dimensions must be larger than 1, got ", self.ndim());
  int64_t size = self.size(0), stride = 0;
  for (int64_t d = 0; d < self.ndim(); ++d) {
    check(self.ndim() == 2 || self.size(d) == self.size(0),
          "fill_diagonal_: all dimensions of input must be of equal length, got ", self.sizes());
    size = std::min(size, self.size(d));
    stride += self.stride(d);
  }
  ops::fill__Scalar(ops::as_strided(self, {size}, {stride}, std::nullopt), fill_value);
  const int64_t height = self.size(0), step = self.size(1) + 1;
  if (!wrap || self.ndim() != 2 || height <= step) return;
  const int64_t below = (self.numel() + step - 1) / step - size;
  const int64_t first = self.offset() + self.stride(0) * step;
  ops::fill__Scalar(ops::as_strided(self, {below}, {stride}, first), fill_value);
}

Tensor new_empty_strided(KeySet, const Tensor& self, const Dims& size, const Dims& stride,
                         DType dtype, Device device) {
  return ops::empty_strided(size, stride, dtype == DType::kUndefined ? self.dtype() : dtype,
                            device == Device::kUndefined ? self.device() : device);
}

Tensor empty_permuted(KeySet, const Dims& size, const Dims& physical_layout, DType dtype,
                      Device device) {
  const int64_t rank = size.ndim();
  check(physical_layout.ndim() == rank,
        "empty_permuted: Number of dimensions in size does not match the length of the "
        "physical_layout; i.e. len(size) = ",
        rank, " is not equal to len(physical_layout) = ", physical_layout.ndim());
  Dims strides(size.size(), -1);
  int64_t next = 1;
  for (size_t i = size.size(); i-- > 0;) {
    const int64_t d = physical_layout[i];
    check(d >= 0 && d < rank,
          "empty_permuted: Dimension out of range (expected to be between 0 and ", rank - 1,
          ", but got ", d, " at index ", i, ")");
    const auto at = static_cast<size_t>(d);
    check(strides[at] == -1, "empty_permuted: Duplicate dim not allowed, got ", physical_layout);
    strides[at] = next;
    check(!__builtin_mul_overflow(next, std::max<int64_t>(size[at], 1), &next),
          "empty_permuted: size ", size, " overflows");
  }
  return ops::empty_strided(size, strides, dtype, device);
}

Tensor linalg_diagonal(KeySet, const Tensor& A, int64_t offset, int64_t dim1, int64_t dim2) {
  return ops::diagonal(A, offset, dim1, dim2);
}

}  // namespace uh::kernels
