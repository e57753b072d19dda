// Advanced indexing taken apart: which elements of `self` a list of index tensors means.
//
// What: self's dimensions fall into those that are indexed and those that are kept whole. An
// Advanced has one position per element of the broadcast index tensors, and the layout of the
// dimensions that stay. Invariant: every position is inside of self: indices are wrapped and
// checked here, once.
#pragma once

#include <vector>

#include "backend/cpu/index/along.h"

namespace uh {

struct Advanced {
  Dims index_sizes;                 // the shape the index tensors broadcast to
  Tensor positions;                 // int64, contiguous, one per entry of index_sizes
  int64_t along = 1;                // elements of self from one position to the next
  Dims before, before_strides;      // kept dimensions that come before the index's in the result
  Dims after, after_strides;        // and after
  std::vector<Dims> index_strides;  // of each index tensor, in index_sizes

  Dims result_sizes() const;
  // Dense strides in the order of self's, and where self says nothing in that of the index's.
  Dims result_strides() const;
  // The arguments of gather_into, assign_places and fold_places. `dense` has the result's rank.
  IndexWalk walk(IntSpan dense) const;
};

// A mask without dimensions: it adds a dimension to self rather than takes one.
bool is_single_mask(const Tensor& t);

// `indices` has one entry per leading dimension of self, or per mask; an empty Tensor keeps its
// dimension.
// The shapes alone, for indices of which there is one per dimension: without positions.
Advanced plan_indices(const Tensor& self, const std::vector<Tensor>& per_dim);
Advanced resolve_indices(const Tensor& self, const std::vector<Tensor>& indices);

}  // namespace uh
