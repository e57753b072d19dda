// The inner loops of products with a sparse matrix, for float and double.
//
// Invariant: the caller has checked the indices. Each row of the result is written by one call.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"

namespace uh {

// The rows of a sparse matrix: row r has the entries bounds[r] .. bounds[r + 1].
struct SparseRows {
  const int64_t* bounds;
  const int64_t* columns;
  const void* values;
};

template <class T>
struct SparseProductLoops {
  // out row r = scale * out row r + factor * (sum over its entries: value * dense row of the
  // column), for rows lo .. hi. Rows have `width` elements; strides are in elements.
  void (*times_dense)(T* out, int64_t out_stride, const SparseRows& rows, const T* dense,
                      int64_t dense_stride, int64_t width, T scale, T factor, int64_t lo, int64_t hi);
  // Returns the dot product of two rows of n elements.
  T (*dot)(const T* a, const T* b, int64_t n);
};

struct SparseLoops {
  SparseProductLoops<float> of_float;
  SparseProductLoops<double> of_double;
};

UH_PER_ISA(SparseLoops, sparse_loops)

}  // namespace uh
