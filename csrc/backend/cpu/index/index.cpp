// The operators of index.yaml.
#include <algorithm>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/index/advanced.h"
#include "backend/cpu/index/mask.h"
#include "backend/cpu/scatter/scatter_indices.h"
#include "generated/kernels/index.h"
#include "generated/kernels/masked.h"
#include "ops/masked/shapes.h"

namespace uh::kernels {
namespace {

// On meta the result's shape is known only without masks, whose count of True depends on values.
void check_values_known(const Tensor& t, std::string_view op) {
  check_kind(!t.is_meta(), ErrorKind::kNotImplemented, op,
             ": the size of the result depends on the values of a mask, "
             "which a meta tensor does not have");
}

Tensor read(const Tensor& self, const Advanced& a) {
  Tensor out = empty_strided(a.result_sizes(), a.result_strides(), self.dtype());
  gather_into(out.data(), self, a.walk(out.strides()), "index", ErrorKind::kIndex);
  record_write(out);
  return out;
}

// Returns whether the index is a mask of x's own shape: no offsets are needed.
bool is_plain_mask(const Tensor& self, const std::vector<Tensor>& indices) {
  return indices.size() == 1 && indices[0] && indices[0].dtype() == DType::kBool &&
         self.ndim() > 0 && indices[0].sizes() == self.sizes();
}

Tensor index_meta(const Tensor& self, std::vector<Tensor> indices) {
  check_kind(static_cast<int64_t>(indices.size()) <= std::max<int64_t>(self.ndim(), 1),
             ErrorKind::kIndex, "too many indices for tensor of dimension ", self.ndim(), ": got ",
             indices.size());
  for (const Tensor& t : indices) {
    check_kind(!is_mask(t), ErrorKind::kNotImplemented,
               "index: the size of the result depends on the values of a mask, which a meta tensor "
               "does not have");
  }
  indices.resize(self.sizes().size());
  const IndexPlan a = plan_indices(self, indices);
  return empty_strided(a.result_sizes(), a.result_strides(), self.dtype(), Device::kMeta);
}

}  // namespace

Tensor index(KeySet, const Tensor& self, const std::vector<Tensor>& indices) {
  if (self.is_meta()) return index_meta(self, indices);
  for (const Tensor& t : indices) {
    if (t) check_values_known(t, "index");
  }
  if (is_plain_mask(self, indices)) {
    Tensor out = compressed(as_contiguous(self), as_contiguous(indices[0]));
    record_write(out);
    return out;
  }
  return read(self, resolve_indices(self, indices));
}

void index_put_into(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                    bool accumulate) {
  if (const Tensor mask = only_mask(self, indices); mask && values.numel() == 1 && !accumulate) {
    const Scalar value = read_scalar(values);
    shapes::masked_fill_inplace(self, mask, value);  // the value may not fit
    return masked_fill_into(self, mask, value);
  }
  const Advanced a = resolve_indices(self, indices);
  const Dims sizes = a.result_sizes();
  check_put_values(values, sizes);
  if (numel_of(sizes) == 0) return;
  // Values are read in row-major order of the index, and must not change while read.
  Tensor source = values;
  Dims dense(sizes.size(), 0);
  const bool apart = values.storage() != self.storage();
  if (values.numel() > 1 && (!apart || a.index_sizes.size() > 1)) {
    source = empty(sizes, self.dtype());
    copy_elements(source, values);
  } else if (!apart) {
    source = empty(Dims(), self.dtype());
    copy_elements(Strided(source), Strided(values.data(), values.dtype(), Dims(), Dims()));
  }
  if (source.numel() > 1) dense = broadcast_strides(source.sizes(), source.strides(), sizes.size());
  const IndexWalk walk = a.walk(dense);
  if (accumulate)
    fold_places(self, walk, source.data(), Fused::kSum, Scalar(1));
  else
    assign_places(self, walk, source.data());
}

void index_put(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
               bool accumulate, const Tensor& result) {
  copy_elements(result, self);
  index_put_into(result, indices, values, accumulate);
}

}  // namespace uh::kernels
