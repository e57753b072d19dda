// Batches of matrices for LAPACK: column-major copies, and loops over their members.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>

#include "backend/cpu/small_matrix_loops.h"
#include "base/parallel.h"
#include "ops/linalg/matrices.h"

namespace uh {

// Returns a column-major copy of `t`, broadcast to `sizes`; only the layout of a meta tensor.
Tensor column_major_copy(const Tensor& t, const Dims& sizes);
inline Tensor column_major_copy(const Tensor& t) { return column_major_copy(t, t.sizes()); }

// Sets up `count` LAPACK calls: a single one uses all BLAS threads, many run in parallel.
void run_matrices(int64_t count, int64_t work, void (*body)(const void*, int64_t),
                  const void* context);

// Calls f(i) for each of `count` matrices; `work` estimates the arithmetic of one.
template <class F>
void for_matrices(int64_t count, int64_t work, const F& f) {
  run_matrices(
      count, work, [](const void* opaque, int64_t i) { (*static_cast<const F*>(opaque))(i); }, &f);
}

// Calls f(T{}) for LAPACK's four dtypes.
template <class F>
void visit_lapack(DType dtype, const F& f) {
  switch (dtype) {
    case DType::kFloat32: return f(float{});
    case DType::kFloat64: return f(double{});
    case DType::kComplex64: return f(Complex64{});
    case DType::kComplex128: return f(Complex128{});
    default: no_such_dtype(dtype);
  }
}

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<Complex<R>> {
  using type = R;
};
template <class T>
using real_t = typename RealOf<T>::type;

// Returns f(T{}) if small_matrix_loops() have functions for matrices of this dtype and these sizes,
// else false.
template <class F>
bool visit_small(DType dtype, int64_t rows, int64_t columns, const F& f) {
  if (std::max(rows, columns) > kMaxSmallMatrix) return false;
  bool done = false;
  visit_lapack(dtype, [&](auto zero) {
    if constexpr (!is_complex_v<decltype(zero)>) done = f(zero);
  });
  return done;
}

// Calls f(i) for each of `count` small matrices, and returns true if all calls did. If not, LAPACK
// computes the whole batch.
template <class F>
bool for_small_matrices(int64_t count, int64_t work, const F& f) {
  std::atomic<bool> all = true;
  for_matrices(count, work, [&](int64_t i) {
    if (!f(i)) all.store(false, std::memory_order_relaxed);
  });
  return all;
}

// conj for all four types; a real number is returned unchanged.
template <class T>
T conjugated(T v) {
  if constexpr (is_complex_v<T>)
    return conj(v);
  else
    return v;
}

// Sets a column-major matrix to the identity.
template <class T>
void set_identity(T* a, int64_t rows, int64_t columns) {
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i) a[i + j * rows] = i == j ? T(1) : T(0);
}

// Zeroes the elements above (or below) the diagonal of a column-major matrix.
template <class T>
void clear_triangle(T* a, int64_t rows, int64_t columns, bool above) {
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i)
      if (above ? i < j : i > j) a[i + j * rows] = T(0);
}

// Returns true if a matrix is finite: some LAPACK iterations never end on an infinity.
template <class T>
bool all_finite(const T* values, int64_t n) {
  using R = real_t<T>;
  const auto* parts = reinterpret_cast<const R*>(values);
  const int64_t count = n * static_cast<int64_t>(sizeof(T) / sizeof(R));
  return std::all_of(parts, parts + count, [](R v) { return std::isfinite(v); });
}

}  // namespace uh
