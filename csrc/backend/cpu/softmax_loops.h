// softmax and log_softmax over lines that fit the cache: find the largest, exponentials and their
// sum, scale. Memory is read once and written once.
#pragma once

#include "backend/cpu/per_isa.h"
#include "base/dtype.h"

namespace uh {

struct SoftmaxLoops {
  // `rows` rows of n elements that follow one another; [log] [compute dtype: float32, float64]
  void (*rows[2][kDTypeCount])(void* out, const void* x, int64_t rows, int64_t n);
  // `columns` columns side by side, at most 256; the next element of a column is `stride` further
  void (*columns[2][kDTypeCount])(void* out, const void* x, int64_t stride, int64_t n,
                                  int64_t columns);
  // The gradient of x from that of y, the result, which is laid out like both.
  void (*rows_backward[2][kDTypeCount])(void* out, const void* grad, const void* y, int64_t rows,
                                        int64_t n);
  void (*columns_backward[2][kDTypeCount])(void* out, const void* grad, const void* y,
                                           int64_t stride, int64_t n, int64_t columns);
};

UH_PER_ISA(SoftmaxLoops, softmax_loops)

}  // namespace uh
