#include "ops/index/shapes.h"

#include <algorithm>

#include "ops/index/plan.h"
#include "ops/masked/shapes.h"
#include "ops/overlap.h"

namespace uh::shapes {
namespace {

// A 0-d mask adds a dimension to self instead of consuming one.
bool consumes_dim(const Tensor& t) { return !is_mask(t) || t.ndim() > 0; }

void check_dims(const Tensor& self, const std::vector<Tensor>& indices) {
  const int64_t dims = std::count_if(indices.begin(), indices.end(), consumes_dim);
  check_kind(std::max<int64_t>(dims, 1) <= self.ndim(), ErrorKind::kIndex,
             "too many indices for tensor of dimension ", self.ndim(), " (got ", indices.size(),
             ")");
}

// One value under one mask is a masked_fill, which converts it.
bool is_masked_fill(const Tensor& mask, const Tensor& values, bool accumulate) {
  return mask && values.numel() == 1 && !accumulate;
}

void check_values(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values) {
  if (!std::any_of(indices.begin(), indices.end(), is_mask)) {
    std::vector<Tensor> per_dim = indices;
    per_dim.resize(self.sizes().size());
    check_put_values(values, plan_indices(self, per_dim).result_sizes());
  }
  check(self.dtype() == values.dtype(),
        "Index put requires the source and destination dtypes match, got ",
        info(self.dtype()).title, " for the destination and ", info(values.dtype()).title,
        " for the source.");
}

}  // namespace

void index_put_inplace(const Tensor& self, const std::vector<Tensor>& indices,
                       const Tensor& values, bool accumulate) {
  check_dims(self, indices);
  if (const Tensor mask = only_mask(self, indices); is_masked_fill(mask, values, accumulate))
    return masked_fill_inplace(self, mask, Scalar(false));
  check_no_overlap(self, values, "index_put_");
  for (const Tensor& t : indices) check_no_overlap(self, t, "index_put_");
  check_values(self, indices, values);
}

Tensor index_put(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                 bool accumulate) {
  check_dims(self, indices);
  if (!is_masked_fill(only_mask(self, indices), values, accumulate))
    check_values(self, indices, values);
  return empty_like(self, self.dtype());
}

}  // namespace uh::shapes
