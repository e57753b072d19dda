// The operators of scatter.yaml: an index of as many dimensions as self says where each value goes.
#include "generated/kernels/scatter.h"
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/scatter/scatter_indices.h"

namespace uh::kernels {
namespace {

int64_t rank(const Tensor& t) { return std::max<int64_t>(t.ndim(), 1); }

// PyTorch asks nothing of the shape of an index that has no elements.
void check_shapes(const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src,
                  std::string_view op) {
  if (index.numel() == 0) return;
  check_index_dtype(index, op);
  check(rank(index) == rank(self), op,
        "(): Index tensor must have the same number of dimensions as self tensor, got ",
        index.sizes(), " and ", self.sizes());
  for (int64_t d = 0; d < index.ndim() && self.ndim(); ++d) {
    check(d == dim || index.size(d) <= self.size(d), op, "(): Expected index ", index.sizes(),
          " to be no larger than self ", self.sizes(), " apart from dimension ", dim,
          ": dimension ", d, " is");
  }
  if (!src) return;
  for (int64_t d = 0; d < index.ndim() && src->ndim(); ++d) {
    check_kind(d < src->ndim(), ErrorKind::kIndex, op,
               "(): Dimension out of range (expected to be in range of [", -src->ndim(), ", ",
               src->ndim() - 1, "], but got ", d, ")");
    if (index.size(d) > src->size(d)) break;
  }
  check(rank(index) == rank(*src), op,
        "(): Index tensor must have the same number of dimensions as src tensor, got ",
        index.sizes(), " and ", src->sizes());
  check(src->ndim() > 0 || index.numel() == 1, op, "(): Expected index ", index.sizes(),
        " to be no larger than src ", src->sizes());
  for (int64_t d = 0; d < index.ndim() && src->ndim(); ++d) {
    check(index.size(d) <= src->size(d), op, "(): Expected index ", index.sizes(),
          " to be no larger than src ", src->sizes(), ": dimension ", d, " is");
  }
}

// Checks a call; an empty walk means that nothing has to be written.
std::optional<IndexWalk> begin(const Tensor& self, int64_t dim, const Tensor& index,
                               const Tensor* src, std::string_view op) {
  const int64_t d = wrap_dim(dim, self.ndim(), op);
  if (src) {
    check(self.dtype() == src->dtype(), op,
          "(): Expected self.dtype to be equal to src.dtype, got ", name(self.dtype()), " and ",
          name(src->dtype()));
  }
  check_shapes(self, d, index, src, op);
  check_no_internal_overlap(self, op);
  check_disjoint(self, index, op);
  if (src) check_disjoint(self, *src, op);
  if (self.is_meta() || index.numel() == 0) return std::nullopt;
  IndexWalk walk =
      walk_places(self, d, index, src && src->ndim() ? IntSpan(src->strides()) : IntSpan());
  walk.unchecked = op;  // so that the index is fetched from memory once
  return walk;
}

void folded(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Fused op,
            bool include_self, std::string_view name) {
  const auto walk = begin(self, dim, index, &src, name);
  if (!walk) return;
  if (!include_self) forget_places(self, *walk, op);
  fold_places(self, *walk, src.data(), op, Scalar(1));
  if (op == Fused::kMean) divide_by_hits(self, *walk, include_self);
  record_write(self);
}

}  // namespace

void scatter_src_into(KeySet, const Tensor& self, int64_t dim, const Tensor& index,
                      const Tensor& src) {
  const auto walk = begin(self, dim, index, &src, "scatter");
  if (!walk) return;
  assign_places(self, *walk, src.data());
  record_write(self);
}

void scatter_value_into(KeySet, const Tensor& self, int64_t dim, const Tensor& index,
                        const Scalar& value) {
  const ElementBytes bytes = element_bytes(value, self.dtype());
  const auto walk = begin(self, dim, index, nullptr, "scatter");
  if (!walk) return;
  assign_places(self, *walk, bytes.data());
  record_write(self);
}

void scatter_reduce_word_into(KeySet, const Tensor& self, int64_t dim, const Tensor& index,
                              const Tensor& src, const std::string& reduce) {
  folded(self, dim, index, src, scatter_word(reduce, "scatter"), true, "scatter");
}

void scatter_value_reduce_into(KeySet, const Tensor& self, int64_t dim, const Tensor& index,
                               const Scalar& value, const std::string& reduce) {
  const Fused op = scatter_word(reduce, "scatter");
  const ElementBytes bytes = element_bytes(value, self.dtype());
  const auto walk = begin(self, dim, index, nullptr, "scatter");
  if (!walk) return;
  fold_places(self, *walk, bytes.data(), op, Scalar(1));
  record_write(self);
}

void scatter_add_into(KeySet, const Tensor& self, int64_t dim, const Tensor& index,
                      const Tensor& src) {
  folded(self, dim, index, src, Fused::kSum, true, "scatter_add");
}

void scatter_reduce_two_into(KeySet, const Tensor& self, int64_t dim, const Tensor& index,
                             const Tensor& src, const std::string& reduce, bool include_self) {
  const Fused op = reduce_word(reduce, "scatter_reduce");
  folded(self, dim, index, src, op, include_self, "scatter_reduce");
}

}  // namespace uh::kernels
