#include "backend/cpu/gemm_loops.h"

#include <type_traits>

#include "backend/cpu/vectors.h"

namespace uh::UH_ISA {
namespace {

// kRows rows of a times the columns of b that kVectors registers hold, summed in registers.
template <class U, int kRows, int kVectors>
void integer_tile(U* c, const U* a, const U* b, int64_t n, int64_t k) {
  using L = Lanes<U>;
  using Vector = typename L::Vector;
  Vector sum[kRows][kVectors] = {};
  for (int64_t p = 0; p < k; ++p) {
    Vector of_b[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) of_b[v] = L::load(b + p * n + v * L::kCount);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Vector of_a = L::all(a[r * k + p]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[r][v] += of_a * of_b[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) L::store(c + r * n + v * L::kCount, sum[r][v]);
  }
}

template <class U, int kVectors>
void integer_columns(U* c, const U* a, const U* b, int64_t m, int64_t n, int64_t k) {
  constexpr int kRows = 4;
  int64_t i = 0;
  for (; i + kRows <= m; i += kRows)
    integer_tile<U, kRows, kVectors>(c + i * n, a + i * k, b, n, k);
  for (; i < m; ++i) integer_tile<U, 1, kVectors>(c + i * n, a + i * k, b, n, k);
}

template <class T>
void integers(T* c_, const T* a_, const T* b_, int64_t m, int64_t n, int64_t k) {
  using U = std::make_unsigned_t<T>;  // unsigned: wraps
  auto* c = reinterpret_cast<U*>(c_);
  const auto* a = reinterpret_cast<const U*>(a_);
  const auto* b = reinterpret_cast<const U*>(b_);
  constexpr int64_t kOne = Lanes<U>::kCount, kFour = 4 * kOne;
  if (n < kOne) {  // dot products
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        U sum = 0;
        for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
        c[i * n + j] = sum;
      }
    }
    return;
  }
  int64_t j = 0;
  for (; j + kFour <= n; j += kFour) integer_columns<U, 4>(c + j, a, b + j, m, n, k);
  for (; j + kOne <= n; j += kOne) integer_columns<U, 1>(c + j, a, b + j, m, n, k);
  // The last columns are computed with the ones before them again.
  if (j < n) integer_columns<U, 1>(c + n - kOne, a, b + n - kOne, m, n, k);
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
