// The inner loops that move elements without computing: copies, casts, fills.
//
// Moves within a dtype depend only on the item size (index 0..4 = 1, 2, 4, 8, 16 bytes); casts take
// contiguous runs. copy/copy.cpp combines them: gather, cast, scatter.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"
#include "base/dtype.h"

namespace uh {

struct CopyLoops {
  static constexpr int kSizeClasses = 5;
  // Converts a contiguous run of n elements: cast[to][from]. Float16 and bfloat16 convert from and
  // to float32 only; their other entries are null.
  using Cast = void (*)(void* dst, const void* src, int64_t n);
  Cast cast[kDTypeCount][kDTypeCount];
  // Strides in elements.
  using Move = void (*)(void* dst, int64_t dst_stride, const void* src, int64_t src_stride,
                        int64_t n);
  Move move[kSizeClasses];
  // The same for rows of n elements, dst_row and src_row apart: fast for short rows, too.
  using MoveRows = void (*)(void* dst, int64_t dst_row, int64_t dst_stride, const void* src,
                            int64_t src_row, int64_t src_stride, int64_t rows, int64_t n);
  MoveRows move_rows[kSizeClasses];
  // dst[c * dst_stride + r] = src[r * src_stride + c], tile by tile; both sides have unit strides.
  using Transpose = void (*)(void* dst, int64_t dst_stride, const void* src, int64_t src_stride,
                             int64_t rows, int64_t columns);
  Transpose transpose[kSizeClasses];
  using Fill = void (*)(void* dst, int64_t stride, const void* value, int64_t n);
  Fill fill[kSizeClasses];
  using MaskedFill = void (*)(void* dst, int64_t stride, const uint8_t* mask, int64_t mask_stride,
                              const void* value, int64_t n);
  MaskedFill masked_fill[kSizeClasses];
  // dst[i] = table[index[i]]; table entries are `table_stride` apart. Indices must be valid.
  using Take = void (*)(void* dst, int64_t dst_stride, const void* table, int64_t table_stride,
                        const int64_t* index, int64_t index_stride, int64_t n);
  Take take[kSizeClasses];
  // Copies src[i] where mask[i] is set and returns the count. All contiguous.
  using Compress = int64_t (*)(void* dst, const void* src, const uint8_t* mask, int64_t n);
  Compress compress[kSizeClasses];
  // Appends first + i for every set mask[i] and returns the count.
  int64_t (*positions)(int64_t* dst, const uint8_t* mask, int64_t first, int64_t n);
  int64_t (*count)(const uint8_t* mask, int64_t n);
};

UH_PER_ISA(CopyLoops, copy_loops)

// Returns the table row for an element size of 1, 2, 4, 8 or 16 bytes.
inline int size_class(int64_t bytes) {
  return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : 4;
}

}  // namespace uh
