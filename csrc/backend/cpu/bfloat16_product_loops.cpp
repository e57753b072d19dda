#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif

#include "backend/cpu/bfloat16_product_loops.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/transpose_tile.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace uh::UH_ISA {
namespace {

#ifdef __AVX512F__

#define UH_PAIRS __attribute__((target("avx512bf16")))

// The sums of a tile, one row of pairs of b and one pair of a fill the registers: 24 + 4 + 1 of 32.
constexpr int kRows = 6, kVectors = 4;
constexpr int64_t kLanes = 16;                    // sums in a register, and pairs
constexpr int64_t kMaxWidth = kVectors * kLanes;  // columns of a panel
constexpr int64_t kDepth = 256;                   // rows of b in a panel, which stays in L1
constexpr int64_t kBand = 40 * kRows;             // rows of a whose sums wait for the next panel
constexpr int64_t kFewRows = 24;                  // for at most these, b is zipped in registers

using Vector = Lanes<float>::Vector;
using Words = Lanes<uint16_t>::Vector;
using Pairs = Lanes<uint32_t>::Vector;

constexpr auto kWordNumbers = std::make_index_sequence<32>{};

UH_PAIRS inline Vector add_products(Vector sum, Pairs a, Pairs b) {
  return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

// Loads the first n words, n from 0 to 32; the others are zero.
inline Words load_words(const BFloat16* from, int64_t n) {
  return (Words)_mm512_maskz_loadu_epi16(static_cast<__mmask32>((uint64_t{1} << n) - 1), from);
}

inline Vector widened(__m256i x) {
  return (Vector)((Pairs)_mm512_maskz_cvtepu16_epi32(static_cast<__mmask16>(-1), x) << 16);
}

// One block of c, of a tile's rows and vectors. The last vector has `last` elements; the rest of it
// is neither read nor written.
struct Block {
  BFloat16* c;
  int64_t c_row, last;
  float* sums;  // of earlier panels, rows of kMaxWidth
  bool is_first, is_last;
  const BFloat16* a;
  int64_t a_row;
  const BFloat16* b;  // a panel of pairs, or b itself
  int64_t b_row, depth;
  float alpha, beta;
};

// Reads the pairs of two rows of b: zipped in a panel, or here, where `second` is null for a last
// row without a partner.
template <bool kZipped, int kWidth>
inline void load_pairs(Pairs (&to)[kWidth], const BFloat16* first, const BFloat16* second) {
  if constexpr (kZipped) {
#pragma GCC unroll 8
    for (int w = 0; w < kWidth; ++w) to[w] = (Pairs)load_words(first + 2 * w * kLanes, 32);
  } else {
#pragma GCC unroll 8
    for (int w = 0; w < kWidth; w += 2) {
      const Words x = load_words(first + w * kLanes, 32);
      const Words y = second ? load_words(second + w * kLanes, 32) : Words{};
      to[w] = (Pairs)zip<0>(x, y, kWordNumbers);
      to[w + 1] = (Pairs)zip<16>(x, y, kWordNumbers);
    }
  }
}

template <bool kZipped, int kHeight, int kWidth>
UH_PAIRS void tile(const Block& block) {
  Vector sum[kHeight][kWidth];
#pragma GCC unroll 16
  for (int r = 0; r < kHeight; ++r) {
#pragma GCC unroll 8
    for (int w = 0; w < kWidth; ++w) sum[r][w] = Vector{};
  }
  const int64_t a_row = block.a_row;
  const int64_t second = kZipped ? 0 : block.b_row, step = kZipped ? block.b_row : 2 * block.b_row;
  const BFloat16* b = block.b;
  const BFloat16* a[(kHeight + 2) / 3];  // a pointer reaches three rows by scaled addressing
#pragma GCC unroll 4
  for (int t = 0; t < (kHeight + 2) / 3; ++t) a[t] = block.a + 3 * t * a_row;
  Pairs of_b[kWidth];
  for (int64_t p = block.depth / 2; p > 0; --p, b += step) {
    load_pairs<kZipped>(of_b, b, b + second);
#pragma GCC unroll 16
    for (int r = 0; r < kHeight; ++r) {
      uint32_t pair;
      std::memcpy(&pair, a[r / 3] + r % 3 * a_row, sizeof pair);
      const Pairs of_a = (Pairs)_mm512_set1_epi32(static_cast<int>(pair));
#pragma GCC unroll 8
      for (int w = 0; w < kWidth; ++w) sum[r][w] = add_products(sum[r][w], of_a, of_b[w]);
    }
#pragma GCC unroll 4
    for (const BFloat16*& at : a) at += 2;
  }
  if (block.depth % 2 == 1) {
    load_pairs<kZipped>(of_b, b, nullptr);
#pragma GCC unroll 16
    for (int r = 0; r < kHeight; ++r) {
      const uint32_t pair = a[r / 3][r % 3 * a_row].bits;
      const Pairs of_a = (Pairs)_mm512_set1_epi32(static_cast<int>(pair));
#pragma GCC unroll 8
      for (int w = 0; w < kWidth; ++w) sum[r][w] = add_products(sum[r][w], of_a, of_b[w]);
    }
  }
  const Vector alpha = Lanes<float>::all(block.alpha), beta = Lanes<float>::all(block.beta);
#pragma GCC unroll 16
  for (int r = 0; r < kHeight; ++r) {
#pragma GCC unroll 8
    for (int w = 0; w < kWidth; ++w) {
      float* const earlier = block.sums + r * kMaxWidth + w * kLanes;
      Vector result = block.is_first ? sum[r][w] : sum[r][w] + Lanes<float>::load(earlier);
      if (!block.is_last) {
        Lanes<float>::store(earlier, result);
        continue;
      }
      BFloat16* const c = block.c + r * block.c_row + w * kLanes;
      const int64_t count = w + 1 < kWidth ? kLanes : block.last;
      const auto some = static_cast<__mmask16>((1u << count) - 1);
      result = alpha * result;
      if (block.beta != 0) result += beta * widened(_mm256_maskz_loadu_epi16(some, c));
      _mm256_mask_storeu_epi16(c, some, (__m256i)_mm512_cvtneps_pbh(result));
    }
  }
}

// Multiplies `rows` rows of a with one panel.
template <bool kZipped, int kWidth>
void pass(Block block, int64_t rows) {
  const auto step = [&](int64_t height) {
    block.c += height * block.c_row;
    block.a += height * block.a_row;
    block.sums += height * kMaxWidth;
    rows -= height;
  };
  if constexpr (kWidth < 3)  // more sums, so that none waits for itself
    for (; rows >= 2 * kRows; step(2 * kRows)) tile<kZipped, 2 * kRows, kWidth>(block);
  for (; rows >= kRows; step(kRows)) tile<kZipped, kRows, kWidth>(block);
  switch (rows) {
    case 1: return tile<kZipped, 1, kWidth>(block);
    case 2: return tile<kZipped, 2, kWidth>(block);
    case 3: return tile<kZipped, 3, kWidth>(block);
    case 4: return tile<kZipped, 4, kWidth>(block);
    case 5: return tile<kZipped, 5, kWidth>(block);
    default: return;
  }
}

void pass(const Block& block, int64_t rows, int64_t vectors, bool zipped) {
  if (!zipped) return pass<false, kVectors>(block, rows);
  if (vectors == 1) return pass<true, 1>(block, rows);
  if (vectors == 2) return pass<true, 2>(block, rows);
  if (vectors == 3) return pass<true, 3>(block, rows);
  pass<true, 4>(block, rows);
}

// Zips `depth` rows of `columns` elements of b into a panel: zero-padded rows of `width` pairs.
void pack_rows(uint32_t* panel, int64_t width, const BFloat16* b, int64_t b_row, int64_t depth,
               int64_t columns) {
  for (int64_t p = 0; p < depth; p += 2, b += 2 * b_row, panel += width) {
    for (int64_t j = 0; j < width; j += 2 * kLanes) {
      const int64_t count = std::min(2 * kLanes, columns - j);
      const Words x = load_words(b + j, count);
      const Words y = p + 1 < depth ? load_words(b + b_row + j, count) : Words{};
      Lanes<uint32_t>::store(panel + j, (Pairs)zip<0>(x, y, kWordNumbers));
      if (j + kLanes < width)
        Lanes<uint32_t>::store(panel + j + kLanes, (Pairs)zip<16>(x, y, kWordNumbers));
    }
  }
}

// The same for a b whose columns are contiguous: they hold pairs already, and are transposed.
void pack_columns(uint32_t* panel, int64_t width, const BFloat16* b, int64_t b_column,
                  int64_t depth, int64_t columns) {
  for (int64_t p = 0; p < depth; p += 2 * kLanes) {
    const int64_t count = std::min(2 * kLanes, depth - p), rows = (count + 1) / 2;
    for (int64_t j = 0; j < width; j += kLanes) {
      Pairs line[kLanes];
#pragma GCC unroll 16
      for (int64_t i = 0; i < kLanes; ++i)
        line[i] = j + i < columns ? (Pairs)load_words(b + (j + i) * b_column + p, count) : Pairs{};
      transpose_lines(line);
      uint32_t* const to = panel + p / 2 * width + j;
#pragma GCC unroll 16
      for (int64_t i = 0; i < kLanes; ++i)
        if (i < rows) Lanes<uint32_t>::store(to + i * width, line[i]);
    }
  }
}

void tiles(const TiledProduct<BFloat16>& x) {
  alignas(64) uint32_t panel[kDepth / 2 * kMaxWidth];  // pairs
  alignas(64) float sums[kBand * kMaxWidth];
  const int64_t slices = (x.k + kDepth - 1) / kDepth;
  const int64_t slice = (x.k + 2 * slices - 1) / (2 * slices) * 2;
  for (int64_t i = 0; i < x.m; i += kBand) {
    const int64_t rows = std::min(kBand, x.m - i);
    for (int64_t j = 0; j < x.n; j += kMaxWidth) {
      const int64_t columns = std::min(kMaxWidth, x.n - j);
      const int64_t vectors = (columns + kLanes - 1) / kLanes, width = vectors * kLanes;
      const bool zipped = x.b_column != 1 || columns < kMaxWidth || rows > kFewRows;
      for (int64_t from = 0; from < x.k; from += slice) {
        const int64_t depth = std::min(slice, x.k - from);
        const BFloat16* const b = x.b + from * x.b_row + j * x.b_column;
        if (zipped && x.b_column == 1) pack_rows(panel, width, b, x.b_row, depth, columns);
        if (zipped && x.b_column != 1) pack_columns(panel, width, b, x.b_column, depth, columns);
        const Block block{.c = x.c + i * x.c_row + j,
                          .c_row = x.c_row,
                          .last = columns - width + kLanes,
                          .sums = sums,
                          .is_first = from == 0,
                          .is_last = from + depth == x.k,
                          .a = x.a + i * x.a_row + from,
                          .a_row = x.a_row,
                          .b = zipped ? reinterpret_cast<const BFloat16*>(panel) : b,
                          .b_row = zipped ? 2 * width : x.b_row,
                          .depth = depth,
                          .alpha = x.alpha,
                          .beta = x.beta};
        pass(block, rows, vectors, zipped);
      }
    }
  }
}

constexpr int kDots = 4;  // rows and columns whose products along k are summed at once

// Adds the products of `count` elements, at most 32, of each row of a with each column of b.
template <int kHeight>
UH_PAIRS inline void add_dots(Vector (&sum)[kLanes], const BFloat16* const (&a)[kHeight],
                              const BFloat16* const (&b)[kDots], int64_t from, int64_t count) {
  Pairs of_b[kDots];
#pragma GCC unroll 4
  for (int w = 0; w < kDots; ++w) of_b[w] = (Pairs)load_words(b[w] + from, count);
#pragma GCC unroll 4
  for (int r = 0; r < kHeight; ++r) {
    const auto of_a = (Pairs)load_words(a[r] + from, count);
#pragma GCC unroll 4
    for (int w = 0; w < kDots; ++w)
      sum[r * kDots + w] = add_products(sum[r * kDots + w], of_a, of_b[w]);
  }
}

template <int kHeight>
UH_PAIRS void few_dots(const TiledProduct<BFloat16>& x, int64_t i, int64_t j) {
  const int64_t columns = std::min<int64_t>(kDots, x.n - j);
  const BFloat16 *a[kHeight], *b[kDots];
#pragma GCC unroll 4
  for (int r = 0; r < kHeight; ++r) a[r] = x.a + (i + r) * x.a_row;
#pragma GCC unroll 4
  for (int w = 0; w < kDots; ++w) b[w] = x.b + (j + std::min<int64_t>(w, columns - 1)) * x.b_column;
  Vector sum[kLanes] = {};
  int64_t p = 0;
  for (; p + 32 <= x.k; p += 32) add_dots(sum, a, b, p, 32);
  if (p < x.k) add_dots(sum, a, b, p, x.k - p);
  transpose_lines(sum);
  Vector total = sum[0];
#pragma GCC unroll 16
  for (int64_t l = 1; l < kLanes; ++l) total += sum[l];
  // Lane r * kDots + w is the sum of row r and column w.
  total = x.alpha * total;
  const auto some = static_cast<__mmask8>((1u << columns) - 1);
  BFloat16* const c = x.c + i * x.c_row + j;
  alignas(32) uint64_t rows[kLanes / kDots] = {};
  if (x.beta != 0) {
    for (int r = 0; r < kHeight; ++r)
      _mm_storel_epi64(reinterpret_cast<__m128i*>(rows + r),
                       _mm_maskz_loadu_epi16(some, c + r * x.c_row));
    total += x.beta * widened(_mm256_load_si256(reinterpret_cast<const __m256i*>(rows)));
  }
  _mm256_store_si256(reinterpret_cast<__m256i*>(rows), (__m256i)_mm512_cvtneps_pbh(total));
  for (int r = 0; r < kHeight; ++r)
    _mm_mask_storeu_epi16(c + r * x.c_row, some, _mm_cvtsi64_si128(static_cast<int64_t>(rows[r])));
}

void dots(const TiledProduct<BFloat16>& x) {
  for (int64_t j = 0; j < x.n; j += kDots) {
    int64_t i = 0;
    for (; i + 4 <= x.m; i += 4) few_dots<4>(x, i, j);
    if (x.m - i == 3) few_dots<3>(x, i, j);
    if (x.m - i == 2) few_dots<2>(x, i, j);
    if (x.m - i == 1) few_dots<1>(x, i, j);
  }
}

BFloat16ProductLoops loops() {
  if (!has_bfloat16_pairs()) return {};
  return {tiles, dots};
}

#else

BFloat16ProductLoops loops() { return {}; }

#endif

}  // namespace

const BFloat16ProductLoops& bfloat16_product_loops() {
  static const BFloat16ProductLoops table = loops();
  return table;
}

}  // namespace uh::UH_ISA
