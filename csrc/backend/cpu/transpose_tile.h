// Transposition of a square tile in registers. Compiled once per instruction set.
//
// transpose_tile<T>(dst, dst_stride, src, src_stride) writes kTileSide<T> lines of kTileSide<T>
// elements; a line fills one vector register. Note [Transposing by zips]: log2(side) times, line i
// is zipped with line i + side / 2; then line c holds column c. This costs log2(side) / side
// shuffles per element; element by element, each costs a load and a store.
#pragma once

#include <cstdint>
#include <utility>

#include "backend/cpu/vectors.h"

namespace uh::UH_ISA {

// At most 16 lines, the number of registers.
template <class T>
inline constexpr int64_t kTileSide = kRegisterBytes / static_cast<int64_t>(sizeof(T)) < 16
                                         ? kRegisterBytes / static_cast<int64_t>(sizeof(T))
                                         : 16;

template <class T>
struct Line {
  using Type
      __attribute__((vector_size(kTileSide<T> * sizeof(T)), aligned(alignof(T)), may_alias)) = T;
};

// Interleaves lanes kFrom, kFrom + 1, ... of a and b.
template <int64_t kFrom, class V, std::size_t... I>
inline V zip(V a, V b, std::index_sequence<I...>) {
  constexpr int64_t n = sizeof...(I);
  return __builtin_shufflevector(a, b, (kFrom + static_cast<int64_t>(I) / 2 + (I % 2) * n)...);
}

// `line` is aligned to its size: a template does not know that the type of an argument is not.
template <class V, int64_t n>
inline void transpose_lines(V (&line)[n]) {
  constexpr auto lanes = std::make_index_sequence<n>{};
  V zipped[n];
#pragma GCC unroll 4
  for (int64_t width = 1; width < n; width *= 2) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < n / 2; ++i) {
      zipped[2 * i] = zip<0>(line[i], line[i + n / 2], lanes);
      zipped[2 * i + 1] = zip<n / 2>(line[i], line[i + n / 2], lanes);
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < n; ++i) line[i] = zipped[i];
  }
}

template <class T>
inline void transpose_tile(T* dst, int64_t dst_stride, const T* src, int64_t src_stride) {
  using V = typename Line<T>::Type;
  constexpr int64_t n = kTileSide<T>;
  alignas(sizeof(V)) V line[n];
#pragma GCC unroll 16
  for (int64_t i = 0; i < n; ++i) line[i] = *reinterpret_cast<const V*>(src + i * src_stride);
  transpose_lines(line);
#pragma GCC unroll 16
  for (int64_t i = 0; i < n; ++i) *reinterpret_cast<V*>(dst + i * dst_stride) = line[i];
}

}  // namespace uh::UH_ISA
