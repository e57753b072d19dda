#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif

#include "backend/cpu/product_loops.h"

#include <algorithm>

#include "backend/cpu/transpose_tile.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace uh::UH_ISA {
namespace {

#ifdef __AVX512F__

// The sums of a tile, one row of b and one element of a fill the registers: 24 + 4 + 1 of 32.
constexpr int kRows = 6, kVectors = 4;
// Rows of b in a panel: it stays in L1 while all rows of a are processed.
constexpr int64_t kDepth = 128;
// For at most this many rows of a, panels are read in place.
constexpr int64_t kFewRows = 24;

template <class T>
constexpr int64_t kLanes = Lanes<T>::kCount;

// One block of c, of a tile's rows and vectors. The last vector has `last` elements; the rest of it
// is neither read nor written.
template <class T>
struct Block {
  T* c;
  int64_t c_row, last;
  const T* a;
  int64_t a_row, a_column;
  const T* b;
  int64_t b_row, depth;
  T alpha, beta;
};

// Loads the first n lanes, n from 1 to all.
inline auto load_some(const float* from, int64_t n) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), from);
}
inline auto load_some(const double* from, int64_t n) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1), from);
}
inline void store_some(float* to, __m512 x, int64_t n) {
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << n) - 1), x);
}
inline void store_some(double* to, __m512d x, int64_t n) {
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>((1u << n) - 1), x);
}

template <class T, int kHeight, int kWidth>
void tile(const Block<T>& block) {
  using L = Lanes<T>;
  using Vector = typename L::Vector;
  Vector sum[kHeight][kWidth];
#pragma GCC unroll 8
  for (int r = 0; r < kHeight; ++r) {
#pragma GCC unroll 8
    for (int w = 0; w < kWidth; ++w) sum[r][w] = Vector{};
  }
  const int64_t a_row = block.a_row, a_column = block.a_column, b_row = block.b_row;
  const T *a = block.a, *b = block.b;
  const T* below = a + 3 * a_row;  // two pointers reach six rows by scaled addressing
  for (int64_t p = block.depth; p > 0; --p, a += a_column, below += a_column, b += b_row) {
    Vector of_b[kWidth];
#pragma GCC unroll 8
    for (int w = 0; w < kWidth; ++w) of_b[w] = L::load(b + w * kLanes<T>);
#pragma GCC unroll 8
    for (int r = 0; r < kHeight; ++r) {
      const Vector of_a = L::all(r < 3 ? a[r * a_row] : below[(r - 3) * a_row]);
#pragma GCC unroll 8
      for (int w = 0; w < kWidth; ++w) sum[r][w] += of_a * of_b[w];
    }
  }
  const Vector alpha = L::all(block.alpha), beta = L::all(block.beta);
  const bool keep = block.beta != T(0);
#pragma GCC unroll 8
  for (int r = 0; r < kHeight; ++r) {
    T* const c = block.c + r * block.c_row;
#pragma GCC unroll 8
    for (int w = 0; w + 1 < kWidth; ++w) {
      const Vector result = alpha * sum[r][w];
      L::store(c + w * kLanes<T>, keep ? result + beta * L::load(c + w * kLanes<T>) : result);
    }
    T* const end = c + (kWidth - 1) * kLanes<T>;
    const Vector result = alpha * sum[r][kWidth - 1];
    store_some(end, keep ? result + beta * load_some(end, block.last) : result, block.last);
  }
}

// Multiplies all rows of a with one panel.
template <class T, int kWidth>
void pass(Block<T> block, int64_t rows) {
  const auto step = [&](int64_t height) {
    block.c += height * block.c_row;
    block.a += height * block.a_row;
    rows -= height;
  };
  for (; rows >= kRows; step(kRows)) tile<T, kRows, kWidth>(block);
  switch (rows) {
    case 1: return tile<T, 1, kWidth>(block);
    case 2: return tile<T, 2, kWidth>(block);
    case 3: return tile<T, 3, kWidth>(block);
    case 4: return tile<T, 4, kWidth>(block);
    case 5: return tile<T, 5, kWidth>(block);
    default: return;
  }
}

// Copies `depth` rows of `columns` elements of b into zero-padded rows of `width`.
template <class T>
void pack(T* panel, int64_t width, const T* b, int64_t b_row, int64_t b_column, int64_t depth,
          int64_t columns) {
  constexpr int64_t side = kTileSide<T>;
  int64_t done = 0;  // columns
  if (b_row == 1) {
    for (; done + side <= columns; done += side) {
      const T* from = b + done * b_column;
      int64_t p = 0;
      for (; p + side <= depth; p += side)
        transpose_tile(panel + p * width + done, width, from + p, b_column);
      for (; p < depth; ++p)
        for (int64_t j = 0; j < side; ++j) panel[p * width + done + j] = from[j * b_column + p];
    }
  } else if (b_column == 1) {
    const int64_t last = width - kLanes<T>;
    for (int64_t p = 0; p < depth; ++p, b += b_row, panel += width) {
      for (int64_t j = 0; j < last; j += kLanes<T>)
        Lanes<T>::store(panel + j, Lanes<T>::load(b + j));
      Lanes<T>::store(panel + last, load_some(b + last, columns - last));
    }
    return;
  }
  for (int64_t p = 0; done < width && p < depth; ++p)
    for (int64_t j = done; j < width; ++j)
      panel[p * width + j] = j < columns ? b[p * b_row + j * b_column] : T(0);
}

template <class T>
void multiply(const TiledProduct<T>& x) {
  constexpr int64_t kMaxWidth = kVectors * kLanes<T>;
  alignas(64) T panel[kDepth * kMaxWidth];
  const int64_t slices = (x.k + kDepth - 1) / kDepth;
  for (int64_t s = 0; s < slices; ++s) {
    const int64_t from = x.k * s / slices, depth = x.k * (s + 1) / slices - from;
    for (int64_t j = 0; j < x.n; j += kMaxWidth) {
      const int64_t columns = std::min(kMaxWidth, x.n - j);
      const int64_t vectors = (columns + kLanes<T> - 1) / kLanes<T>, width = vectors * kLanes<T>;
      const T* b = x.b + from * x.b_row + j * x.b_column;
      const bool direct =
          x.b_column == 1 && columns == width && (x.m <= kFewRows || x.b_row == width);
      if (!direct) pack(panel, width, b, x.b_row, x.b_column, depth, columns);
      const Block<T> block{.c = x.c + j,
                           .c_row = x.c_row,
                           .last = columns - width + kLanes<T>,
                           .a = x.a + from * x.a_column,
                           .a_row = x.a_row,
                           .a_column = x.a_column,
                           .b = direct ? b : panel,
                           .b_row = direct ? x.b_row : width,
                           .depth = depth,
                           .alpha = x.alpha,
                           .beta = s == 0 ? x.beta : T(1)};
      if (vectors == 1) pass<T, 1>(block, x.m);
      if (vectors == 2) pass<T, 2>(block, x.m);
      if (vectors == 3) pass<T, 3>(block, x.m);
      if (vectors == 4) pass<T, 4>(block, x.m);
    }
  }
}

constexpr ProductLoops kLoops{multiply<float>, multiply<double>, kRegisterBytes};

#else

constexpr ProductLoops kLoops{nullptr, nullptr, 0};

#endif

}  // namespace

const ProductLoops& product_loops() {
  static const ProductLoops loops = kLoops;
  return loops;
}

}  // namespace uh::UH_ISA
