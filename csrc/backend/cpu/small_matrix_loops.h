// Factors and solutions of one small real matrix, where a call of LAPACK costs more than its
// arithmetic.
//
// The algorithms are LAPACK's unblocked ones (geqr2 and org2r, gebd2, sytd2, getf2), so signs and
// pivots are the same. Matrices to read are row-major, results column-major. A function returns
// false, and its results are undefined, if the matrix has infinities, NaNs or a range of numbers
// for which LAPACK scales it first.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"

namespace uh {

inline constexpr int64_t kMaxSmallMatrix = 32;  // rows and columns

template <class T>
struct SmallMatrixTable {
  // a = q r for a of m x n; q has k columns and r has k rows: min(m, n) or m. A null q is not
  // computed.
  bool (*qr)(const T* a, int64_t m, int64_t n, int64_t k, T* q, T* r);
  // The inverse by LU factors, and getrf's info: 0, or the number of the first pivot that is 0.
  bool (*invert)(const T* a, int64_t n, T* inverse, int32_t* info);
  // The diagonal d and superdiagonal e of a bidiagonal matrix with a's singular values.
  bool (*bidiagonal)(const T* a, int64_t m, int64_t n, T* d, T* e);
  // a = q t q^T with the diagonal d and subdiagonal e of t; a is symmetric and only its lower
  // triangle is read. A null q is not computed.
  bool (*tridiagonal)(const T* a, int64_t n, T* d, T* e, T* q);
  // The least-squares solution of a x = b for column-major a (m x n, m >= n) and b (m x count),
  // which gets x in its first n rows. Returns false, and leaves b, too if a may not have full rank:
  // if its condition number, estimated from above, is not below 1 / rcond.
  bool (*least_squares)(const T* a, int64_t m, int64_t n, T* b, int64_t count, T rcond);
};

struct SmallMatrixLoops {
  SmallMatrixTable<float> f32;
  SmallMatrixTable<double> f64;

  template <class T>
  const SmallMatrixTable<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float))
      return f32;
    else
      return f64;
  }
};

UH_PER_ISA(SmallMatrixLoops, small_matrix_loops)

}  // namespace uh
