// The kernels of index_write.yaml: a 1-d index selects slices of self.
#include "generated/kernels/index_write.h"
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/scatter/scatter_indices.h"
#include "generated/ops/view.h"
#include "ops/copy/any_device.h"

namespace uh::kernels {
namespace {

// Returns the strides of `source` for the iteration: a 0-d one is a single slice.
IntSpan strides_of(const Tensor& source) {
  return source.ndim() ? IntSpan(source.strides()) : IntSpan();
}

std::optional<IndexWalk> walk(const Tensor& self, int64_t dim, const Tensor& index,
                              const Tensor& source, std::string_view op) {
  dim = wrap_dim(dim, self.ndim(), op);
  if (source.numel() == 0 || self.numel() == 0) {
    if (index.numel() > 0)
      check_places(walk_slices(self, dim, index, IntSpan()), op, ErrorKind::kIndex);
    return std::nullopt;
  }
  IndexWalk result = walk_slices(self, dim, index, strides_of(source));
  check_places(result, op, ErrorKind::kIndex);
  return result;
}

// Makes negative indices positive; check_places rejects the invalid ones.
Tensor wrapped(const Tensor& index, int64_t size) {
  const Tensor out = empty(Dims{index.numel()}, DType::kInt64);
  copy_elements(Strided(out.data(), out.dtype(), index.sizes(), contiguous_strides(index.sizes())),
                Strided(index));
  auto* positions = out.data_as<int64_t>();
  for (int64_t i = 0; i < out.numel(); ++i) {
    if (positions[i] < 0 && positions[i] >= -size) positions[i] += size;
  }
  return out;
}

// Without slices PyTorch checks no index.
bool has_no_slice(const Tensor& self) { return self.ndim() > 1 && self.numel() == 0; }

}  // namespace

void index_add_into(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    const Scalar& alpha) {
  if (has_no_slice(self)) return;
  const Tensor values = apart(self, source);
  const auto positions = walk(self, dim, apart(self, index), values, "index_add");
  if (positions) fold_places(self, *positions, values.data(), Fused::kSum, alpha);
}

void index_copy_into(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const Tensor values = apart(self, source);
  const auto positions = walk(self, dim, apart(self, index), values, "index_copy");
  if (positions) assign_places(self, *positions, values.data());
}

void index_reduce_into(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                       const std::string& reduce, bool include_self) {
  const Fused op = index_word(reduce, "index_reduce");
  if (has_no_slice(self)) return;
  const Tensor values = apart(self, source);
  const auto positions = walk(self, dim, apart(self, index), values, "index_reduce");
  if (!positions) return;
  if (!include_self) forget_places(self, *positions, op);
  fold_places(self, *positions, values.data(), op, Scalar(1));
  if (op == Fused::kMean) divide_by_hits(self, *positions, include_self);
}

void index_fill_into(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  const int64_t d = wrap_dim(dim, self.ndim(), "index_fill");
  const ElementBytes bytes = element_bytes(value, self.dtype());
  const IndexWalk positions = walk_slices(self, d, wrapped(index, self.ndim() ? self.size(d) : 1),
                                          Dims(self.sizes().size(), 0));
  if (index.numel() > 0) check_places(positions, "index_fill", ErrorKind::kIndex);
  if (self.numel() == 0 || index.numel() == 0) return;
  assign_places(self, positions, bytes.data());
}

void index_fill_tensor_into(const Tensor& self, int64_t dim, const Tensor& index,
                            const Tensor& value) {
  index_fill_into(self, dim, index, read_scalar(value));
}

void put_into(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  if (index.numel() == 0) return;
  // A non-contiguous tensor is updated through a contiguous copy.
  const Tensor dense = as_contiguous(self), values = as_contiguous(apart(self, source));
  const Tensor flat = ops::view(dense, {-1});
  const IndexWalk positions =
      walk_places(flat, 0, wrapped(ops::reshape(index, {-1}), self.numel()), Dims{1});
  check_places(positions, "put_", ErrorKind::kIndex);
  if (accumulate)
    fold_places(flat, positions, values.data(), Fused::kSum, Scalar(1));
  else
    assign_places(flat, positions, values.data());
  if (!dense.is_same(self)) copy_elements(self, dense);
}

void index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                const Tensor& result) {
  copy_elements(result, self);
  index_fill_into(result, dim, index, value);
}

void index_fill_tensor(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value,
                       const Tensor& result) {
  index_fill(self, dim, index, read_scalar(value), result);
}

void put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate,
         const Tensor& result) {
  copy_elements(result, self);
  put_into(result, index, source, accumulate);
}

}  // namespace uh::kernels
