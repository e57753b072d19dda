// The kernels of scatter.yaml: an index of self's rank selects the position of each value.
#include "generated/kernels/scatter.h"
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/scatter/scatter_indices.h"
#include "ops/copy/in_dtype.h"

namespace uh::kernels {
namespace {

// Returns nullopt if there is nothing to write.
std::optional<IndexWalk> begin(const Tensor& self, int64_t dim, const Tensor& index,
                               const Tensor* src, std::string_view op) {
  if (index.numel() == 0) return std::nullopt;
  IndexWalk walk = walk_places(self, wrap_dim(dim, self.ndim(), op), index,
                               src && src->ndim() ? IntSpan(src->strides()) : IntSpan());
  walk.unchecked = op;  // checked while writing: the index is read once
  return walk;
}

void folded(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Fused op,
            bool include_self, std::string_view name) {
  if (is_reduced_floating(self.dtype())) {  // rounded once, at the end
    const Tensor sums = in_dtype(self, DType::kFloat32);
    folded(sums, dim, index, in_dtype(src, DType::kFloat32), op, include_self, name);
    return copy_elements(self, sums);
  }
  const auto walk = begin(self, dim, index, &src, name);
  if (!walk) return;
  if (!include_self) forget_places(self, *walk, op);
  fold_places(self, *walk, src.data(), op, Scalar(1));
  if (op == Fused::kMean) divide_by_hits(self, *walk, include_self);
}

}  // namespace

void scatter_src_into(const Tensor& self, int64_t dim, const Tensor& index,
                      const Tensor& src) {
  const auto walk = begin(self, dim, index, &src, "scatter");
  if (!walk) return;
  assign_places(self, *walk, src.data());
}

void scatter_value_into(const Tensor& self, int64_t dim, const Tensor& index,
                        const Scalar& value) {
  const auto walk = begin(self, dim, index, nullptr, "scatter");
  if (!walk) return;
  assign_places(self, *walk, element_bytes(value, self.dtype()).data());
}

void scatter_reduce_word_into(const Tensor& self, int64_t dim, const Tensor& index,
                              const Tensor& src, const std::string& reduce) {
  folded(self, dim, index, src, scatter_word(reduce, "scatter"), true, "scatter");
}

void scatter_value_reduce_into(const Tensor& self, int64_t dim, const Tensor& index,
                               const Scalar& value, const std::string& reduce) {
  const Fused op = scatter_word(reduce, "scatter");
  const auto walk = begin(self, dim, index, nullptr, "scatter");
  if (!walk) return;
  fold_places(self, *walk, element_bytes(value, self.dtype()).data(), op, Scalar(1));
}

void scatter_add_into(const Tensor& self, int64_t dim, const Tensor& index,
                      const Tensor& src) {
  folded(self, dim, index, src, Fused::kSum, true, "scatter_add");
}

void scatter_reduce_two_into(const Tensor& self, int64_t dim, const Tensor& index,
                             const Tensor& src, const std::string& reduce, bool include_self) {
  const Fused op = reduce_word(reduce, "scatter_reduce");
  folded(self, dim, index, src, op, include_self, "scatter_reduce");
}

}  // namespace uh::kernels
