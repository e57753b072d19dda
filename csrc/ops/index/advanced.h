// Advanced indexing taken apart: which elements of `self` a list of index tensors means.
//
// What: self's dimensions fall into those that are indexed and those that are kept whole. An
// Advanced has one offset per element of the broadcast index tensors, and the layout of what is
// kept. Invariant: every offset is inside of self: indices are wrapped and checked here, once.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace uh {

struct Advanced {
  Dims index_sizes;              // the shape the index tensors broadcast to
  std::vector<int64_t> offsets;  // elements from self's first one, one per entry of index_sizes
  Dims before, before_strides;   // kept dimensions that come before the index's in the result
  Dims after, after_strides;     // and after

  Dims result_sizes() const;
};

// `indices` has one entry per leading dimension of self, or per mask; an empty Tensor keeps its
// dimension.
Advanced resolve_indices(const Tensor& self, const std::vector<Tensor>& indices);

// Throws unless every index lies in [lo, size). n contiguous values.
void check_indices(const int64_t* index, int64_t n, int64_t lo, int64_t size, int64_t dim,
                   ErrorKind kind);

}  // namespace uh
