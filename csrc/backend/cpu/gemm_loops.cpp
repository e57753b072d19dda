#include "backend/cpu/gemm_loops.h"

#include <type_traits>

namespace uh::UH_ISA {
namespace {

// Adds four rows of b at a time to row i of c, while a block of columns stays in L1.
template <class T>
void integers(T* c_, const T* a_, const T* b_, int64_t m, int64_t n, int64_t k) {
  using U = std::make_unsigned_t<T>;  // unsigned: wraps
  auto* __restrict c = reinterpret_cast<U*>(c_);
  const auto* __restrict a = reinterpret_cast<const U*>(a_);
  const auto* __restrict b = reinterpret_cast<const U*>(b_);
  constexpr int64_t kBlock = 512;
  for (int64_t i = 0; i < m * n; ++i) c[i] = 0;
  for (int64_t j0 = 0; j0 < n; j0 += kBlock) {
    const int64_t j1 = j0 + kBlock < n ? j0 + kBlock : n;
    for (int64_t i = 0; i < m; ++i) {
      int64_t p = 0;
      for (; p + 4 <= k; p += 4) {
        const U a0 = a[i * k + p], a1 = a[i * k + p + 1], a2 = a[i * k + p + 2],
                a3 = a[i * k + p + 3];
        const U *b0 = b + p * n, *b1 = b0 + n, *b2 = b1 + n, *b3 = b2 + n;
        for (int64_t j = j0; j < j1; ++j)
          c[i * n + j] += a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
      }
      for (; p < k; ++p) {
        const U a0 = a[i * k + p];
        for (int64_t j = j0; j < j1; ++j) c[i * n + j] += a0 * b[p * n + j];
      }
    }
  }
}

template <class T>
void small(T* c, const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t b_row,
           int64_t b_column, int64_t m, int64_t n, int64_t k, const T* scale) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T sum{};
      for (int64_t p = 0; p < k; ++p)
        sum += a[i * a_row + p * a_column] * b[p * b_row + j * b_column];
      T& to = c[i * n + j];
      if (scale) sum = scale[1] == T{} ? scale[0] * sum : scale[0] * sum + scale[1] * to;
      to = sum;
    }
  }
}

}  // namespace

const GemmLoops& gemm_loops() {
  static const GemmLoops loops{integers<int32_t>, integers<int64_t>, small<float>,
                               small<double>,     small<Complex64>,  small<Complex128>};
  return loops;
}

}  // namespace uh::UH_ISA
