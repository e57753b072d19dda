// The operators of masked.yaml.
#include "generated/kernels/masked.h"
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/copy_loops.h"
#include "backend/cpu/index/mask.h"
#include "backend/cpu/scatter/scatter_indices.h"
#include "base/parallel.h"
#include "generated/ops/masked.h"
#include "generated/ops/view.h"
#include "ops/geometry.h"

namespace uh::kernels {
namespace {

// Throws for a meta tensor, as the number of matches depends on values.
void check_values_known(const Tensor& t, std::string_view op) {
  check_kind(!t.is_meta(), ErrorKind::kNotImplemented, op,
             ": the size of the result depends on the values of a tensor, "
             "which a meta tensor does not have");
}

// Returns a row-major copy of t, broadcast to `sizes`.
Tensor spread(const Tensor& t, const Dims& sizes) {
  if (t.sizes() == sizes) return as_contiguous(t);
  Tensor full = empty(sizes, t.dtype(), t.device());
  if (!t.is_meta()) copy_elements(full, t);
  return full;
}

}  // namespace

void masked_fill_into(const Tensor& self, const Tensor& mask, const Scalar& value) {
  if (self.numel() == 0) return;
  const ElementBytes bytes = element_bytes(value, self.dtype());
  const Tensor readable_mask = reads_elsewhere(self, mask) ? dense_copy(mask) : mask;
  const Dims mask_strides =
      broadcast_strides(readable_mask.sizes(), readable_mask.strides(), self.sizes().size());
  const auto g = make_geometry<2>(self.sizes(), {self.strides(), mask_strides});
  const int64_t item = itemsize(self.dtype());
  const auto fill = copy_loops().masked_fill[size_class(item)];
  parallel_for(0, g.rows(), std::max<int64_t>(1, 32768 / g.row()), [&](int64_t lo, int64_t hi) {
    for_rows(g, lo, hi, [&](const auto& at) {
      fill(self.data() + at[0] * item, g.row_stride(0), readable_mask.data_as<uint8_t>() + at[1],
           g.row_stride(1), bytes.data(), g.row());
    });
  });
}

void masked_fill_tensor_into(const Tensor& self, const Tensor& mask, const Tensor& value) {
  masked_fill_into(self, mask, read_scalar(value));
}

void masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value,
                 const Tensor& result) {
  copy_elements(result, self);
  masked_fill_into(result, mask, value);
}

void masked_fill_tensor(const Tensor& self, const Tensor& mask, const Tensor& value,
                        const Tensor& result) {
  masked_fill(self, mask, read_scalar(value), result);
}

Tensor masked_select(KeySet, const Tensor& self, const Tensor& mask) {
  check(mask.dtype() == DType::kBool, "masked_select: expected BoolTensor for mask, got ",
        name(mask.dtype()));
  const Dims sizes = broadcast_shapes(self.sizes(), mask.sizes());
  check_values_known(self, "masked_select");
  check_values_known(mask, "masked_select");
  Tensor out = compressed(spread(self, sizes), spread(mask, sizes));
  record_write(out);
  return out;
}

void masked_scatter_into(const Tensor& self, const Tensor& mask, const Tensor& source) {
  Tensor positions = set_places(spread(mask, self.sizes()));
  const int64_t n = positions.numel();
  check(n <= source.numel(),
        "masked_scatter_: Number of elements of source < number of ones in "
        "mask: ",
        source.numel(), " < ", n);
  if (n == 0) return;
  const Tensor dense = as_contiguous(self);
  const Tensor values = share_bytes(self, source) ? dense_copy(source) : as_contiguous(source);
  const Tensor flat = ops::view(dense, {-1});
  assign_places(flat, walk_places(flat, 0, positions, Dims{1}), values.data());
  if (!dense.is_same(self)) copy_elements(self, dense);
}

void masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source,
                    const Tensor& result) {
  copy_elements(result, self);
  masked_scatter_into(result, mask, source);
}

Tensor nonzero(KeySet, const Tensor& self) {
  check_values_known(self, "nonzero");
  const Tensor positions = set_places(truth_bytes(self));
  const int64_t n = positions.numel();
  // Column-major, as in PyTorch: each column is the index tensor of one dimension.
  Tensor out = empty_strided(Dims{n, self.ndim()}, Dims{1, n}, DType::kInt64);
  if (self.ndim() > 0) split_places(positions, self.sizes(), out.data_as<int64_t>());
  record_write(out);
  return out;
}

Tensor nonzero_static(KeySet, const Tensor& self, int64_t size, int64_t fill_value) {
  check(size >= 0, "nonzero_static: 'size' must be a non-negative integer, got ", size);
  const Dims sizes{size, self.ndim()};
  checked_numel(sizes, "nonzero_static");
  Tensor out = empty_strided(sizes, contiguous_strides(sizes), DType::kInt64, self.device());
  if (out.is_meta()) return out;
  const Tensor result = ops::nonzero(self);
  const int64_t n = std::min(size, result.size(0));
  fill_elements(out, element_bytes(Scalar(fill_value), DType::kInt64));
  copy_elements(Strided(out.data(), out.dtype(), Dims{n, self.ndim()}, out.strides()),
                Strided(result.data(), result.dtype(), Dims{n, self.ndim()}, result.strides()));
  record_write(out);
  return out;
}

}  // namespace uh::kernels
