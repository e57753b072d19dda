// Writing elements to the places an index names: plainly, or folded into what is there.
//
// Invariant: several values for one place are taken in the order of the index along its dimension,
// whatever the number of threads: the last assignment wins, sums are added in that order.
#pragma once

#include "backend/cpu/index/along.h"
#include "ops/scatter/reduction.h"

namespace uh {

// self[place] = src[...]. src has self's dtype and the strides walk.dense (0: one value for all).
void assign_places(const Tensor& self, const IndexWalk& walk, const std::byte* src);

// self[place] = self[place] op src[...] * alpha. Means become sums: see divide_by_hits.
void fold_places(const Tensor& self, const IndexWalk& walk, const std::byte* src, Fused op,
                 const Scalar& alpha);

// Before a fold without self: the places that are written get the value that changes nothing.
void forget_places(const Tensor& self, const IndexWalk& walk, Fused op);

// Ends a mean: every place is divided by how often it was written (and 1 for self, if it counts).
void divide_by_hits(const Tensor& self, const IndexWalk& walk, bool include_self);

}  // namespace uh
