// Advanced indexing taken apart: which elements of `self` a list of index tensors means.
//
// What: self's dimensions fall into those that are indexed and those that are kept whole. An
// Advanced has one position per element of the broadcast index tensors, and the layout of the
// dimensions that stay. Invariant: every position is inside of self: indices are wrapped and
// checked here, once.
#pragma once

#include <vector>

#include "backend/cpu/index/along.h"
#include "ops/index/plan.h"

namespace uh {

struct Advanced : IndexPlan {
  Tensor positions;   // int64, contiguous, one per entry of index_sizes
  int64_t along = 1;  // elements of self from one position to the next

  // The arguments of gather_into, assign_places and fold_places. `dense` has the result's rank.
  IndexWalk walk(IntSpan dense) const;
};

// A mask without dimensions: it adds a dimension to self rather than takes one.
bool is_single_mask(const Tensor& t);

// `indices` has one entry per leading dimension of self, or per mask; an empty Tensor keeps its
// dimension.
Advanced resolve_indices(const Tensor& self, const std::vector<Tensor>& indices);

}  // namespace uh
