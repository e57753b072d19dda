// The plan of an advanced indexing, from shapes only: which dimensions are indexed, and where the
// index dimensions are in the result.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace uh {

struct IndexPlan {
  Dims index_sizes;                 // broadcast shape of the index tensors
  Dims before, before_strides;      // kept dimensions before the index's in the result
  Dims after, after_strides;        // kept dimensions after them
  std::vector<Dims> index_strides;  // of each index tensor, in index_sizes

  Dims result_sizes() const;
  // Dense strides in the stride order of self, ties broken by the index tensors.
  Dims result_strides() const;
};

// `per_dim` has an entry per leading dimension of self; an undefined Tensor is a full slice. Throws
// IndexError for tensors that are not of integers, do not broadcast together, or index a dimension
// of size 0.
IndexPlan plan_indices(const Tensor& self, const std::vector<Tensor>& per_dim);

inline bool is_mask(const Tensor& t) {
  return t && (t.dtype() == DType::kBool || t.dtype() == DType::kUInt8);
}

// Returns the only index if it is a mask, in a shape that broadcasts over the kept dimensions.
Tensor only_mask(const Tensor& self, const std::vector<Tensor>& indices);

// Throws unless `values` broadcast to `sizes`, those of an index's result.
void check_put_values(const Tensor& values, const Dims& sizes);

}  // namespace uh
