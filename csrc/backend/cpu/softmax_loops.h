// softmax and log_softmax of lines that fit the cache: maximum, exponentials and their sum,
// scaling. Memory is read once and written once.
#pragma once

#include "backend/cpu/per_isa.h"
#include "base/dtype.h"

namespace uh {

struct SoftmaxLoops {
  // `rows` contiguous rows of n elements; [log] [compute dtype: float32, float64]
  void (*rows[2][kDTypeCount])(void* out, const void* x, int64_t rows, int64_t n);
  // `columns` adjacent columns, at most 256; the elements of a column are `stride` apart
  void (*columns[2][kDTypeCount])(void* out, const void* x, int64_t stride, int64_t n,
                                  int64_t columns);
  // Computes the gradient of x from that of the output y; all have one layout.
  void (*rows_backward[2][kDTypeCount])(void* out, const void* grad, const void* y, int64_t rows,
                                        int64_t n);
  void (*columns_backward[2][kDTypeCount])(void* out, const void* grad, const void* y,
                                           int64_t stride, int64_t n, int64_t columns);
};

UH_PER_ISA(SoftmaxLoops, softmax_loops)

}  // namespace uh
