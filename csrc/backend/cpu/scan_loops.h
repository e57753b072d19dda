// The inner loops of scans: each element becomes the fold of itself and all before it.
//
// Memory is read as (outer, n, inner) with the scanned dimension in the middle. Invariant: the
// order of operations depends only on n; float32 is added and multiplied in double precision.
#pragma once

#include "backend/cpu/per_isa.h"
#include "base/dtype.h"

namespace uh {

enum class ScanOp { kSum, kProd, kLogSumExp, kCount };

struct Scan {
  // `rows` contiguous rows of n elements
  void (*rows)(void* out, const void* x, int64_t rows, int64_t n);
  // `columns` adjacent columns; the elements of a column are `stride` apart
  void (*columns)(void* out, const void* x, int64_t stride, int64_t n, int64_t columns);
};

// The best element so far and its index, the last of equal ones; a NaN stays.
using ScanBest = void (*)(void* values, int64_t* indices, const void* x, int64_t stride, int64_t n);

struct ScanLoops {
  // Sums from the end: the gradient of cumsum. Null: convert first.
  Scan reversed_sum[kDTypeCount];
  // null: convert first
  Scan scan[static_cast<int>(ScanOp::kCount)][kDTypeCount];
  ScanBest best[2][kDTypeCount];  // [0 min, 1 max][compute dtype]
};

UH_PER_ISA(ScanLoops, scan_loops)

}  // namespace uh
