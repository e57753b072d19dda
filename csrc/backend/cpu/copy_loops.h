// The inner loops of everything that moves elements without computing: copies, casts, fills.
//
// What: same-dtype moves know only the item size (index 0..4 = 1, 2, 4, 8, 16 bytes); casts work on
// contiguous runs. copy/copy.cpp puts them together: gather, cast, scatter.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"
#include "base/dtype.h"

namespace uh {

struct CopyLoops {
  static constexpr int kSizeClasses = 5;
  // Contiguous run of n elements, converted. Float16 and bfloat16 pair with float32 only; the
  // other entries of their rows are null. cast[to][from].
  using Cast = void (*)(void* dst, const void* src, int64_t n);
  Cast cast[kDTypeCount][kDTypeCount];
  // Strides in elements.
  using Move = void (*)(void* dst, int64_t dst_stride, const void* src, int64_t src_stride,
                        int64_t n);
  Move move[kSizeClasses];
  // dst[c * dst_stride + r] = src[r * src_stride + c]: both unit strides are used, tile by tile.
  using Transpose = void (*)(void* dst, int64_t dst_stride, const void* src, int64_t src_stride,
                             int64_t rows, int64_t columns);
  Transpose transpose[kSizeClasses];
  using Fill = void (*)(void* dst, int64_t stride, const void* value, int64_t n);
  Fill fill[kSizeClasses];
  using MaskedFill = void (*)(void* dst, int64_t stride, const uint8_t* mask, int64_t mask_stride,
                              const void* value, int64_t n);
  MaskedFill masked_fill[kSizeClasses];
  // dst[i] = table[index[i]], table entries `table_stride` elements apart; indices must be valid.
  using Take = void (*)(void* dst, int64_t dst_stride, const void* table, int64_t table_stride,
                        const int64_t* index, int64_t index_stride, int64_t n);
  Take take[kSizeClasses];
  // Keeps src[i] where mask[i] is set; returns how many. All contiguous.
  using Compress = int64_t (*)(void* dst, const void* src, const uint8_t* mask, int64_t n);
  Compress compress[kSizeClasses];
  // Appends first + i for every set mask[i]; returns how many.
  int64_t (*positions)(int64_t* dst, const uint8_t* mask, int64_t first, int64_t n);
  int64_t (*count)(const uint8_t* mask, int64_t n);
};

UH_PER_ISA(CopyLoops, copy_loops)

// Row of the tables above for an element size of 1, 2, 4, 8 or 16 bytes.
inline int size_class(int64_t bytes) {
  return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : 4;
}

}  // namespace uh
