// The operators of view_copy.yaml: a view, then a row-major copy of it.
#include "generated/kernels/view_copy.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/view.h"
#include "generated/ops/view_copy.h"

namespace uh::kernels {
namespace {

Tensor copied(const Tensor& view) { return ops::clone(view, MemoryFormat::kContiguous); }

std::vector<Tensor> copied(std::vector<Tensor> views) {
  for (Tensor& view : views) view = copied(view);
  return views;
}

// Returns tensors over the same bytes with separate version counters.
std::vector<Tensor> apart(std::vector<Tensor> views) {
  for (Tensor& view : views)
    view = alias(view, view.impl()->layout(), view.dtype(), make_ref<OwnCounter>());
  return views;
}

}  // namespace

// If no view is possible, `reshape` has already copied.
Tensor view_copy(KeySet, const Tensor& self, const Dims& size) {
  const Tensor seen = ops::reshape(self, size);
  return seen.storage() == self.storage() ? copied(seen) : seen;
}
Tensor view_copy_dtype(KeySet, const Tensor& self, DType dtype) {
  return copied(ops::view_dtype(self, dtype));
}
Tensor alias_copy(KeySet, const Tensor& self) { return copied(self); }
Tensor detach_copy(KeySet, const Tensor& self) { return copied(ops::detach(self)); }
Tensor as_strided_copy(KeySet, const Tensor& self, const Dims& size, const Dims& stride,
                       std::optional<int64_t> storage_offset) {
  return copied(ops::as_strided(self, size, stride, storage_offset));
}
Tensor diagonal_copy(KeySet, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  return copied(ops::diagonal(self, offset, dim1, dim2));
}
Tensor expand_copy(KeySet, const Tensor& self, const Dims& size, bool implicit) {
  return copied(ops::expand(self, size, implicit));
}
Tensor permute_copy(KeySet, const Tensor& self, const Dims& dims) {
  return copied(ops::permute(self, dims));
}
Tensor transpose_copy(KeySet, const Tensor& self, int64_t dim0, int64_t dim1) {
  return copied(ops::transpose(self, dim0, dim1));
}
Tensor t_copy(KeySet, const Tensor& self) { return copied(ops::t(self)); }
Tensor squeeze_copy(KeySet, const Tensor& self, const std::optional<Dims>& dim) {
  return copied(ops::squeeze(self, dim));
}
Tensor unsqueeze_copy(KeySet, const Tensor& self, int64_t dim) {
  return copied(ops::unsqueeze(self, dim));
}
Tensor select_copy(KeySet, const Tensor& self, int64_t dim, int64_t index) {
  return copied(ops::select(self, dim, index));
}
Tensor slice_copy(KeySet, const Tensor& self, int64_t dim, std::optional<int64_t> start,
                  std::optional<int64_t> end, int64_t step) {
  return copied(ops::slice(self, dim, start, end, step));
}
Tensor unfold_copy(KeySet, const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  return copied(ops::unfold(self, dimension, size, step));
}
Tensor view_as_real_copy(KeySet, const Tensor& self) { return copied(ops::view_as_real(self)); }
Tensor view_as_complex_copy(KeySet, const Tensor& self) {
  return copied(ops::view_as_complex(self));
}

std::vector<Tensor> unbind_copy(KeySet, const Tensor& self, int64_t dim) {
  return copied(ops::unbind(self, dim));
}
std::vector<Tensor> split_copy(KeySet, const Tensor& self, int64_t split_size, int64_t dim) {
  return copied(ops::split(self, split_size, dim));
}
std::vector<Tensor> split_with_sizes_copy(KeySet, const Tensor& self, const Dims& split_sizes,
                                          int64_t dim) {
  return copied(ops::split_with_sizes(self, split_sizes, dim));
}

std::vector<Tensor> unsafe_split(KeySet, const Tensor& self, int64_t split_size, int64_t dim) {
  return apart(ops::split(self, split_size, dim));
}
std::vector<Tensor> unsafe_split_with_sizes(KeySet, const Tensor& self, const Dims& split_sizes,
                                            int64_t dim) {
  return apart(ops::split_with_sizes(self, split_sizes, dim));
}
std::vector<Tensor> unsafe_chunk(KeySet, const Tensor& self, int64_t chunks, int64_t dim) {
  return apart(ops::chunk(self, chunks, dim));
}

}  // namespace uh::kernels
