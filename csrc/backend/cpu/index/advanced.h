// Advanced indexing: the elements of `self` that a list of index tensors selects.
//
// self's dimensions are either indexed or kept whole. An Advanced has one position per element of
// the broadcast index tensors, and the layout of the kept dimensions.
// Invariant: all positions are inside self: indices are wrapped and checked here, once.
#pragma once

#include <vector>

#include "backend/cpu/index/along.h"
#include "ops/index/plan.h"

namespace uh {

struct Advanced : IndexPlan {
  Tensor positions;   // int64, contiguous, one per element of index_sizes
  int64_t along = 1;  // elements of self per unit of position

  // Arguments for gather_into, assign_places and fold_places. `dense` has the result's rank.
  IndexWalk walk(IntSpan dense) const;
};

// `indices` has one entry per leading dimension of self, or per mask; an empty Tensor keeps its
// dimension.
Advanced resolve_indices(const Tensor& self, const std::vector<Tensor>& indices);

}  // namespace uh
