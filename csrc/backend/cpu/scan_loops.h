// The inner loops of scans: every element becomes what it and all before it fold to.
//
// Memory is read as (outer, n, inner) with the scanned dimension in the middle. Invariant: the
// order of operations depends on n only; float32 is added and multiplied in double precision.
#pragma once

#include "backend/cpu/per_isa.h"
#include "base/dtype.h"

namespace uh {

enum class ScanOp { kSum, kProd, kLogSumExp, kCount };

struct Scan {
  // `rows` rows of n elements that follow one another
  void (*rows)(void* out, const void* x, int64_t rows, int64_t n);
  // `columns` columns side by side; the next element of a column is `stride` further
  void (*columns)(void* out, const void* x, int64_t stride, int64_t n, int64_t columns);
};

// The best element so far and where it is, the last of equals; a NaN stays.
using ScanBest = void (*)(void* values, int64_t* indices, const void* x, int64_t stride, int64_t n);

struct ScanLoops {
  // Sums from the end: the gradient of a running sum. Null: convert first.
  Scan reversed_sum[kDTypeCount];
  // null: convert first
  Scan scan[static_cast<int>(ScanOp::kCount)][kDTypeCount];
  ScanBest best[2][kDTypeCount];  // [0 min, 1 max][compute dtype]
};

UH_PER_ISA(ScanLoops, scan_loops)

}  // namespace uh
