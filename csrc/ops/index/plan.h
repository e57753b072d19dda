// Advanced indexing taken apart, as far as shapes say: which dimensions a list of index tensors takes,
// and where theirs go in the result.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace uh {

struct IndexPlan {
  Dims index_sizes;                 // the shape the index tensors broadcast to
  Dims before, before_strides;      // kept dimensions that come before the index's in the result
  Dims after, after_strides;        // and after
  std::vector<Dims> index_strides;  // of each index tensor, in index_sizes

  Dims result_sizes() const;
  // Dense strides in the order of self's, and where self says nothing in that of the index's.
  Dims result_strides() const;
};

// `per_dim` has one entry per leading dimension of self; an undefined Tensor keeps its dimension.
IndexPlan plan_indices(const Tensor& self, const std::vector<Tensor>& per_dim);

}  // namespace uh
