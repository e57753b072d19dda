#include "backend/cpu/embedding_loops.h"

#include <type_traits>

#include "backend/cpu/blocks.h"
#include "backend/cpu/vectors.h"

namespace uh::UH_ISA {
namespace {

// kBlocks blocks of columns from `first` on; their sums stay in registers.
template <int kBlocks, bool kScaled, class W, class From>
void sum_blocks(W* to, const TableRows& rows, const W* scales, W divisor, int64_t first) {
  using L = Lanes<W>;
  constexpr int64_t kParts = kBlockElements / L::kCount;
  typename L::Vector sum[kBlocks * kParts] = {};
  for (int64_t i = 0; i < rows.n; ++i) {
    const From* row = static_cast<const From*>(rows.table) + rows.numbers[i] * rows.width + first;
#pragma GCC unroll 8
    for (int64_t b = 0; b < kBlocks; ++b, row += kBlockElements) {
      alignas(64) W wide[kBlockElements];
      const W* numbers = wide;
      if constexpr (std::is_same_v<From, W>)
        numbers = row;
      else
        load_block(wide, row);
#pragma GCC unroll 8
      for (int64_t v = 0; v < kParts; ++v) {
        const auto x = L::load(numbers + v * L::kCount);
        sum[b * kParts + v] += kScaled ? x * scales[i] : x;
      }
    }
  }
#pragma GCC unroll 32
  for (int64_t v = 0; v < kBlocks * kParts; ++v)
    L::store(to + first + v * L::kCount, divisor == 1 ? sum[v] : sum[v] / divisor);
}

template <bool kScaled, class W, class From>
void sum_columns(W* to, const TableRows& rows, const W* scales, W divisor) {
  constexpr int64_t kTogether = 4;
  int64_t j = 0;
  for (; j + kTogether * kBlockElements <= rows.width; j += kTogether * kBlockElements)
    sum_blocks<kTogether, kScaled, W, From>(to, rows, scales, divisor, j);
  if (rows.width >= kBlockElements) {
    for (; j < rows.width; j += kBlockElements) {  // the last block may overlap its neighbour
      const int64_t last = rows.width - kBlockElements;
      sum_blocks<1, kScaled, W, From>(to, rows, scales, divisor, j < last ? j : last);
    }
    return;
  }
  const auto* table = static_cast<const From*>(rows.table);
  for (j = 0; j < rows.width; ++j) to[j] = 0;
  for (int64_t i = 0; i < rows.n; ++i) {
    const From* row = table + rows.numbers[i] * rows.width;
    for (j = 0; j < rows.width; ++j)
      to[j] += kScaled ? static_cast<W>(row[j]) * scales[i] : static_cast<W>(row[j]);
  }
  for (j = 0; j < rows.width; ++j) to[j] /= divisor;
}

template <class W, class From>
void sum(void* to_, const TableRows& rows, const void* scales_, double divisor_) {
  auto* to = static_cast<W*>(to_);
  const auto* scales = static_cast<const W*>(scales_);
  const auto divisor = static_cast<W>(divisor_);
  if (scales)
    sum_columns<true, W, From>(to, rows, scales, divisor);
  else
    sum_columns<false, W, From>(to, rows, scales, divisor);
}

}  // namespace

const EmbeddingLoops& embedding_loops() {
  static const EmbeddingLoops loops = [] {
    EmbeddingLoops result{};
    result.sum[static_cast<int>(DType::kFloat32)] = sum<float, float>;
    result.sum[static_cast<int>(DType::kFloat64)] = sum<double, double>;
    result.sum[static_cast<int>(DType::kFloat16)] = sum<float, Half>;
    result.sum[static_cast<int>(DType::kBFloat16)] = sum<float, BFloat16>;
    return result;
  }();
  return loops;
}

}  // namespace uh::UH_ISA
