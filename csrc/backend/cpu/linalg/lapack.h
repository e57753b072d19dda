// LAPACK functions, one overload per element type. No other file uses LAPACK's names.
//
// All matrices are column-major. Each function returns LAPACK's `info`: 0, the negated index of an
// invalid argument, or a positive routine-specific code. Sizes are `blasint`; use for_matrices
// (matrices.h), which rejects larger ones.
#pragma once

#include <cblas.h>

#include "base/complex.h"

#define LAPACK_COMPLEX_CUSTOM
#define lapack_complex_float uh::Complex64
#define lapack_complex_double uh::Complex128
#include <lapacke.h>

namespace uh::lapack {

// name: ours; r, c: LAPACK's names for real and complex types, some of which differ.
#define UH_LAPACK_EACH(_, r, c)                                                                    \
  _(float, float, scipy_LAPACKE_s##r)                                                              \
  _(double, double, scipy_LAPACKE_d##r)                                                            \
  _(Complex64, float, scipy_LAPACKE_c##c)                                                          \
  _(Complex128, double, scipy_LAPACKE_z##c)

// LU with row exchanges.
#define UH_GETRF(T, R, f)                                                                          \
  inline int getrf(int m, int n, T* a, int lda, int* pivots) {                                     \
    return f(LAPACK_COL_MAJOR, m, n, a, lda, pivots);                                              \
  }
UH_LAPACK_EACH(UH_GETRF, getrf, getrf)
#define UH_GETRS(T, R, f)                                                                          \
  inline int getrs(char trans, int n, int count, const T* a, int lda, const int* pivots, T* b,     \
                   int ldb) {                                                                      \
    return f(LAPACK_COL_MAJOR, trans, n, count, a, lda, pivots, b, ldb);                           \
  }
UH_LAPACK_EACH(UH_GETRS, getrs, getrs)
// Cholesky: factor, solve with a factor, invert from a factor.
#define UH_POTRF(T, R, f)                                                                          \
  inline int potrf(char uplo, int n, T* a, int lda) { return f(LAPACK_COL_MAJOR, uplo, n, a, lda); }
UH_LAPACK_EACH(UH_POTRF, potrf, potrf)
#define UH_POTRS(T, R, f)                                                                          \
  inline int potrs(char uplo, int n, int count, const T* a, int lda, T* b, int ldb) {              \
    return f(LAPACK_COL_MAJOR, uplo, n, count, a, lda, b, ldb);                                    \
  }
UH_LAPACK_EACH(UH_POTRS, potrs, potrs)
#define UH_POTRI(T, R, f)                                                                          \
  inline int potri(char uplo, int n, T* a, int lda) { return f(LAPACK_COL_MAJOR, uplo, n, a, lda); }
UH_LAPACK_EACH(UH_POTRI, potri, potri)
// QR: factor to reflectors, compute Q from them, multiply by Q.
// With `count` -1 they store the size of the best work space in work[0], which costs as much as a
// small matrix: it is queried once per batch.
#define UH_GEQRF(T, R, f)                                                                          \
  inline int geqrf(int m, int n, T* a, int lda, T* tau, T* work, int count) {                      \
    return f(LAPACK_COL_MAJOR, m, n, a, lda, tau, work, count);                                    \
  }
UH_LAPACK_EACH(UH_GEQRF, geqrf_work, geqrf_work)
#define UH_ORGQR(T, R, f)                                                                          \
  inline int orgqr(int m, int n, int k, T* a, int lda, const T* tau, T* work, int count) {         \
    return f(LAPACK_COL_MAJOR, m, n, k, a, lda, tau, work, count);                                 \
  }
UH_LAPACK_EACH(UH_ORGQR, orgqr_work, ungqr_work)
#define UH_ORMQR(T, R, f)                                                                          \
  inline int ormqr(char side, char trans, int m, int n, int k, const T* a, int lda, const T* tau,  \
                   T* c, int ldc) {                                                                \
    return f(LAPACK_COL_MAJOR, side, trans, m, n, k, a, lda, tau, c, ldc);                         \
  }
UH_LAPACK_EACH(UH_ORMQR, ormqr, unmqr)
// Eigenvalues (and eigenvectors, overwriting the matrix) of a symmetric or Hermitian matrix.
#define UH_SYEVD(T, R, f)                                                                          \
  inline int syevd(char job, char uplo, int n, T* a, int lda, R* values) {                         \
    return f(LAPACK_COL_MAJOR, job, uplo, n, a, lda, values);                                      \
  }
UH_LAPACK_EACH(UH_SYEVD, syevd, heevd)
// Singular values and vectors.
#define UH_GESDD(T, R, f)                                                                          \
  inline int gesdd(char job, int m, int n, T* a, int lda, R* s, T* u, int ldu, T* vt, int ldvt) {  \
    return f(LAPACK_COL_MAJOR, job, m, n, a, lda, s, u, ldu, vt, ldvt);                            \
  }
UH_LAPACK_EACH(UH_GESDD, gesdd, gesdd)
// The same for real matrices with the caller's work space, as geqrf; `order` has room for
// 8 min(m, n) numbers.
inline int gesdd(char job, int m, int n, float* a, int lda, float* s, float* u, int ldu, float* vt,
                 int ldvt, float* work, int count, int* order) {
  return scipy_LAPACKE_sgesdd_work(LAPACK_COL_MAJOR, job, m, n, a, lda, s, u, ldu, vt, ldvt, work,
                                   count, order);
}
inline int gesdd(char job, int m, int n, double* a, int lda, double* s, double* u, int ldu,
                 double* vt, int ldvt, double* work, int count, int* order) {
  return scipy_LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, job, m, n, a, lda, s, u, ldu, vt, ldvt, work,
                                   count, order);
}
// Singular values of a real bidiagonal matrix (d, e), and eigenvalues of a tridiagonal one, without
// and with its eigenvectors times z. The values replace d; `work` has room for 4 n numbers.
#define UH_OF_BANDS(T, prefix)                                                                     \
  inline int bdsqr(int n, T* d, T* e, T* work) {                                                   \
    T unused;                                                                                      \
    return scipy_LAPACKE_##prefix##bdsqr_work(LAPACK_COL_MAJOR, 'U', n, 0, 0, 0, d, e, &unused, 1, \
                                              &unused, 1, &unused, 1, work);                       \
  }                                                                                                \
  inline int sterf(int n, T* d, T* e) { return scipy_LAPACKE_##prefix##sterf_work(n, d, e); }      \
  inline int steqr(int n, T* d, T* e, T* z, T* work) {                                             \
    return scipy_LAPACKE_##prefix##steqr_work(LAPACK_COL_MAJOR, 'V', n, d, e, z, n, work);         \
  }
UH_OF_BANDS(float, s)
UH_OF_BANDS(double, d)
// LDL: symmetric (sytrf) and Hermitian (hetrf) factors, and solvers.
#define UH_SYTRF(T, R, f)                                                                          \
  inline int sytrf(char uplo, int n, T* a, int lda, int* pivots) {                                 \
    return f(LAPACK_COL_MAJOR, uplo, n, a, lda, pivots);                                           \
  }
UH_LAPACK_EACH(UH_SYTRF, sytrf, sytrf)
#define UH_SYTRS(T, R, f)                                                                          \
  inline int sytrs(char uplo, int n, int count, const T* a, int lda, const int* pivots, T* b,      \
                   int ldb) {                                                                      \
    return f(LAPACK_COL_MAJOR, uplo, n, count, a, lda, pivots, b, ldb);                            \
  }
UH_LAPACK_EACH(UH_SYTRS, sytrs, sytrs)
#define UH_HETRF(T, R, f)                                                                          \
  inline int hetrf(char uplo, int n, T* a, int lda, int* pivots) {                                 \
    return f(LAPACK_COL_MAJOR, uplo, n, a, lda, pivots);                                           \
  }
UH_LAPACK_EACH(UH_HETRF, sytrf, hetrf)
#define UH_HETRS(T, R, f)                                                                          \
  inline int hetrs(char uplo, int n, int count, const T* a, int lda, const int* pivots, T* b,      \
                   int ldb) {                                                                      \
    return f(LAPACK_COL_MAJOR, uplo, n, count, a, lda, pivots, b, ldb);                            \
  }
UH_LAPACK_EACH(UH_HETRS, sytrs, hetrs)
// Least squares: by QR, by QR with column pivoting, by SVD (two algorithms).
#define UH_GELS(T, R, f)                                                                           \
  inline int gels(int m, int n, int count, T* a, int lda, T* b, int ldb) {                         \
    return f(LAPACK_COL_MAJOR, 'N', m, n, count, a, lda, b, ldb);                                  \
  }
UH_LAPACK_EACH(UH_GELS, gels, gels)
#define UH_GELSY(T, R, f)                                                                          \
  inline int gelsy(int m, int n, int count, T* a, int lda, T* b, int ldb, int* order, R rcond,     \
                   int* rank) {                                                                    \
    return f(LAPACK_COL_MAJOR, m, n, count, a, lda, b, ldb, order, rcond, rank);                   \
  }
UH_LAPACK_EACH(UH_GELSY, gelsy, gelsy)
#define UH_GELSD(T, R, f)                                                                          \
  inline int gelsd(int m, int n, int count, T* a, int lda, T* b, int ldb, R* s, R rcond,           \
                   int* rank) {                                                                    \
    return f(LAPACK_COL_MAJOR, m, n, count, a, lda, b, ldb, s, rcond, rank);                       \
  }
UH_LAPACK_EACH(UH_GELSD, gelsd, gelsd)
#define UH_GELSS(T, R, f)                                                                          \
  inline int gelss(int m, int n, int count, T* a, int lda, T* b, int ldb, R* s, R rcond,           \
                   int* rank) {                                                                    \
    return f(LAPACK_COL_MAJOR, m, n, count, a, lda, b, ldb, s, rcond, rank);                       \
  }
UH_LAPACK_EACH(UH_GELSS, gelss, gelss)

// Eigenvalues and right eigenvectors of a square matrix. A real one's values are returned as real
// and imaginary parts, a conjugate pair of vectors as a real and an imaginary column.
inline int geev(char job, int n, float* a, int lda, float* re, float* im, float* v, int ldv) {
  return scipy_LAPACKE_sgeev(LAPACK_COL_MAJOR, 'N', job, n, a, lda, re, im, nullptr, 1, v, ldv);
}
inline int geev(char job, int n, double* a, int lda, double* re, double* im, double* v, int ldv) {
  return scipy_LAPACKE_dgeev(LAPACK_COL_MAJOR, 'N', job, n, a, lda, re, im, nullptr, 1, v, ldv);
}
inline int geev(char job, int n, Complex64* a, int lda, Complex64* w, Complex64* v, int ldv) {
  return scipy_LAPACKE_cgeev(LAPACK_COL_MAJOR, 'N', job, n, a, lda, w, nullptr, 1, v, ldv);
}
inline int geev(char job, int n, Complex128* a, int lda, Complex128* w, Complex128* v, int ldv) {
  return scipy_LAPACKE_zgeev(LAPACK_COL_MAJOR, 'N', job, n, a, lda, w, nullptr, 1, v, ldv);
}

// b = a^-1 b or b a^-1 for a triangular a.
inline void trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, int m,
                 int n, const float* a, int lda, float* b, int ldb) {
  scipy_cblas_strsm(CblasColMajor, side, uplo, trans, diag, m, n, 1, a, lda, b, ldb);
}
inline void trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, int m,
                 int n, const double* a, int lda, double* b, int ldb) {
  scipy_cblas_dtrsm(CblasColMajor, side, uplo, trans, diag, m, n, 1, a, lda, b, ldb);
}
inline void trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, int m,
                 int n, const Complex64* a, int lda, Complex64* b, int ldb) {
  const Complex64 one = 1;
  scipy_cblas_ctrsm(CblasColMajor, side, uplo, trans, diag, m, n, &one, a, lda, b, ldb);
}
inline void trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, int m,
                 int n, const Complex128* a, int lda, Complex128* b, int ldb) {
  const Complex128 one = 1;
  scipy_cblas_ztrsm(CblasColMajor, side, uplo, trans, diag, m, n, &one, a, lda, b, ldb);
}

}  // namespace uh::lapack
