// The inner loops of reads by an index: elements of a line, and rows of a table.
//
// Invariant: each index is checked before its element is read, in blocks that stay in L1, so that
// the index is read from memory once.
#pragma once

#include <cstdint>

#include "backend/cpu/copy_loops.h"
#include "backend/cpu/per_isa.h"

namespace uh {

// One row of an iteration: element j is at `j * step` of each operand (in elements).
struct IndexRow {
  const int64_t* index;
  int64_t index_step;
  int64_t along;  // stride of the table in the indexed dimension
  int64_t size;   // valid indices are 0 .. size - 1
  int64_t n;
};

struct IndexLoops {
  // dst[j * dst_step] = table[j * table_step + index[j] * along]. Returns n, or the first j whose
  // index is out of range; earlier elements have been written.
  using Gather = int64_t (*)(void* dst, int64_t dst_step, const void* table, int64_t table_step,
                             const IndexRow& row);
  Gather gather[CopyLoops::kSizeClasses];
  // Copies table row index[i] to dst row i, rows of `bytes` bytes; indices must be valid.
  void (*rows)(void* dst, const void* table, int64_t table_bytes, const int64_t* index, int64_t n,
               int64_t bytes);
  // Returns the first position whose index is not in [lo, hi), or n.
  int64_t (*outside)(const int64_t* index, int64_t n, int64_t lo, int64_t hi);
};

UH_PER_ISA(IndexLoops, index_loops)

}  // namespace uh
