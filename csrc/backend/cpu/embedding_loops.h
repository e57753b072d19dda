// Sums of rows of a table, for embedding_bag.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"
#include "base/dtype.h"

namespace uh {

// `n` rows of a row-major table with `width` columns.
struct TableRows {
  const void* table;
  const int64_t* numbers;
  int64_t n, width;
};

struct EmbeddingLoops {
  // to[j] = the sum over i of scales[i] table[numbers[i]][j], divided by `divisor`; null scales are
  // 1. Of float64 in double, else in float: the types of `to` and `scales`.
  void (*sum[kDTypeCount])(void* to, const TableRows& rows, const void* scales, double divisor);
};

UH_PER_ISA(EmbeddingLoops, embedding_loops)

}  // namespace uh
