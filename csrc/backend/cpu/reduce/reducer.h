// Shared by every reduction: the walk over the dimensions that stay, and the fold itself.
#pragma once

#include <initializer_list>

#include "backend/cpu/reduce_loops.h"
#include "ops/reduce/shapes.h"

namespace uh {

// The dtype a fold converts to before it starts: one that the loops are made for.
DType sum_compute_dtype(DType dtype);      // float32, float64, int64
DType extreme_compute_dtype(DType dtype);  // uint8, int32, int64, float32, float64

// A result of a reduction: where it goes, and how it is made from the accumulators: `made` writes n
// values of the fold's accumulator dtype.
struct Folded {
  const Tensor& out;
  void (*made)(void* values, const std::byte* acc, int64_t n,
               double parameter) = nullptr;  // none: the accumulators are the values
  double parameter = 0;
};

// out[...] = fold over the removed dimensions of self, elements read as `read_as` and then computed
// in `compute`. Several results of one fold have the same sizes and strides.
void fold_into(std::initializer_list<Folded> results, const Tensor& self, const ReducedDims& dims,
               FoldOp op, DType read_as, DType compute);

// values[...] and indices[...] of the best element along `dim`; `values` may be empty. Both must be
// contiguous and have self's sizes without `dim` (or with size 1 there).
void best_into(const Tensor& values, const Tensor& indices, const Tensor& self, int64_t dim,
               bool max);
// The index of the best element of a contiguous, non-empty tensor, as if it were one row.
void best_in_row(const Tensor& index, const Tensor& self, bool max);

}  // namespace uh
