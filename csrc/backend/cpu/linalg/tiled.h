// A product by the loops of backend/cpu/product_loops.h and bfloat16_product_loops.h: when to use
// them, and the split for threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "backend/cpu/bfloat16_product_loops.h"
#include "backend/cpu/product_loops.h"
#include "base/parallel.h"

namespace uh {

// The split of a product into parallel parts: along the longer side of the result, by columns if
// both are equal, so that no part of b is packed twice. Parts are whole registers of columns, or
// rows of a register tile.
template <class T>
struct TileCut {
  bool by_columns;
  int64_t step, parts, grain;

  explicit TileCut(const TiledProduct<T>& x) : by_columns(x.n >= x.m) {
    constexpr int64_t kRows = 6, kWorthThread = 1 << 20;  // multiplications
    step = by_columns ? product_loops().register_bytes / static_cast<int64_t>(sizeof(T)) : kRows;
    parts = ((by_columns ? x.n : x.m) + step - 1) / step;
    grain = std::max<int64_t>(1, kWorthThread / (step * x.k * (by_columns ? x.m : x.n)));
  }
};

// Returns true if the loops exist and are faster than OpenBLAS; measured for sizes from 2 to 1024.
template <class T>
bool is_for_tiles(const TiledProduct<T>& x) {
  if (!product_loops().of_float) return false;
  constexpr int64_t item = sizeof(T), kMaxWork = int64_t{1} << 29;  // bytes times multiplications
  const int64_t columns = 96 / item;              // fewer leave most of a vector unused
  const int64_t rows = x.b_column == 1 ? 4 : 24;  // to share the cost of transposing b
  return x.n >= columns && x.m >= rows && x.k >= 16 && x.m * x.n <= kMaxWork / item / x.k;
}

// Returns true if sums along k are faster than tiles; measured for 1 to 16 rows.
inline bool is_for_dots(const TiledProduct<BFloat16>& x) {
  return x.b_row == 1 && x.m <= 12 && x.k >= 32 * (x.m + 2);
}

template <class T>
int64_t tile_ranges(const TiledProduct<T>& x) {
  const TileCut<T> cut(x);
  return ranges_of(cut.parts, cut.grain);
}

template <class T>
void multiply_in_tiles(const TiledProduct<T>& x) {
  const auto loop = [&] {
    if constexpr (std::is_same_v<T, float>)
      return product_loops().of_float;
    else if constexpr (std::is_same_v<T, double>)
      return product_loops().of_double;
    else
      return is_for_dots(x) ? bfloat16_product_loops().dots : bfloat16_product_loops().tiles;
  }();
  const TileCut<T> cut(x);
  parallel_for(0, cut.parts, cut.grain, [&](int64_t lo, int64_t hi) {
    const int64_t from = lo * cut.step;
    TiledProduct<T> part = x;
    if (cut.by_columns) {
      part.n = std::min(x.n, hi * cut.step) - from;
      part.c += from;
      part.b += from * x.b_column;
    } else {
      part.m = std::min(x.m, hi * cut.step) - from;
      part.c += from * x.c_row;
      part.a += from * x.a_row;
    }
    loop(part);
  });
}

}  // namespace uh
