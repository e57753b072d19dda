// Writes to the positions that an index selects: assignment, or reduction with the old value.
//
// Invariant: several values for one position are applied in the order of the index along its
// dimension, on any number of threads: the last assignment wins, sums are added in that order.
#pragma once

#include "backend/cpu/index/along.h"
#include "ops/scatter/reduction.h"

namespace uh {

// self[position] = src[...]. src has self's dtype and the strides walk.dense (0: a single value).
void assign_places(const Tensor& self, const IndexWalk& walk, const std::byte* src);

// self[position] = self[position] op src[...] * alpha. A mean only sums: see divide_by_hits.
void fold_places(const Tensor& self, const IndexWalk& walk, const std::byte* src, Fused op,
                 const Scalar& alpha);

// Sets the positions to be written to the identity of `op`, for reductions without self.
void forget_places(const Tensor& self, const IndexWalk& walk, Fused op);

// Completes a mean: divides each position by its number of values (plus 1 for self if included).
void divide_by_hits(const Tensor& self, const IndexWalk& walk, bool include_self);

}  // namespace uh
