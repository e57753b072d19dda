#include "backend/cpu/solve/blocked_lu.h"

#include <algorithm>
#include <utility>

#include "backend/cpu/linalg/gemm.h"
#include "backend/cpu/linalg/lapack.h"
#include "backend/cpu/linalg/tiled.h"

namespace uh {
namespace {

constexpr int64_t kBlock = 32;  // columns

// Swaps the rows first, ..., last - 1 of some columns with their pivots.
template <class T>
void swap_rows(T* column, int64_t stride, int64_t columns, const int32_t* pivots, int64_t first,
               int64_t last) {
  for (; columns > 0; --columns, column += stride)
    for (int64_t i = first; i < last; ++i) std::swap(column[i], column[pivots[i] - 1]);
}

}  // namespace

template <class T>
bool is_for_blocked_lu(int64_t m, int64_t n) {
  constexpr auto kItem = static_cast<int64_t>(sizeof(T)), kMaxBytes = int64_t{1} << 25;
  return product_loops().of_float && m == n && n >= 96 && n * n <= kMaxBytes / kItem;
}

template <class T>
int32_t blocked_lu(T* a, int64_t n, int32_t* pivots) {
  set_blas_threads(1);
  int32_t info = 0;
  int64_t width = 0;
  for (int64_t j = 0; j < n; j += width) {
    // The last block has the rest: products with fewer columns are not worth it.
    width = n - j < 2 * kBlock ? n - j : kBlock;
    T* const block = a + j * n;
    const int64_t after = j + width, left = n - after;
    const int zero_pivot = lapack::getrf(static_cast<int>(n - j), static_cast<int>(width), block + j,
                                    static_cast<int>(n), pivots + j);
    if (info == 0 && zero_pivot > 0) info = static_cast<int32_t>(j) + zero_pivot;
    for (int64_t i = j; i < after; ++i) pivots[i] += static_cast<int32_t>(j);
    swap_rows(a, n, j, pivots, j, after);
    if (left == 0) break;
    T* const others = a + after * n;
    parallel_for(0, left, kBlock, [&](int64_t from, int64_t to) {
      T* const columns = others + from * n;
      swap_rows(columns, n, to - from, pivots, j, after);
      lapack::trsm(CblasLeft, CblasLower, CblasNoTrans, CblasUnit, static_cast<int>(width),
                   static_cast<int>(to - from), block + j, static_cast<int>(n), columns + j,
                   static_cast<int>(n));
    });
    multiply_in_tiles(TiledProduct<T>{.c = others + after,  // transposed: by rows
                                      .c_row = n,
                                      .a = others + j,
                                      .a_row = n,
                                      .a_column = 1,
                                      .b = block + after,
                                      .b_row = n,
                                      .b_column = 1,
                                      .m = left,
                                      .n = left,
                                      .k = width,
                                      .alpha = T(-1),
                                      .beta = T(1)});
  }
  return info;
}

template bool is_for_blocked_lu<float>(int64_t, int64_t);
template bool is_for_blocked_lu<double>(int64_t, int64_t);
template int32_t blocked_lu<float>(float*, int64_t, int32_t*);
template int32_t blocked_lu<double>(double*, int64_t, int32_t*);

}  // namespace uh
