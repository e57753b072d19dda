// Matrix products without BLAS: of integers, and of matrices too small to be worth a BLAS call.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"
#include "base/complex.h"

namespace uh {

struct GemmLoops {
  // c (m x n, row-major) = a (m x k) b (k x n), all contiguous. Wraps on overflow.
  void (*int32)(int32_t* c, const int32_t* a, const int32_t* b, int64_t m, int64_t n, int64_t k);
  void (*int64)(int64_t* c, const int64_t* a, const int64_t* b, int64_t m, int64_t n, int64_t k);
  // The same for any strides of a and b (in elements); c is row-major. `scale` is null or points to
  // alpha and beta: c = alpha a b + beta c. With a beta of 0, c is not read.
  void (*small_float)(float* c, const float* a, int64_t a_row, int64_t a_column, const float* b,
                      int64_t b_row, int64_t b_column, int64_t m, int64_t n, int64_t k,
                      const float* scale);
  void (*small_double)(double* c, const double* a, int64_t a_row, int64_t a_column, const double* b,
                       int64_t b_row, int64_t b_column, int64_t m, int64_t n, int64_t k,
                       const double* scale);
  void (*small_complex64)(Complex64* c, const Complex64* a, int64_t a_row, int64_t a_column,
                          const Complex64* b, int64_t b_row, int64_t b_column, int64_t m, int64_t n,
                          int64_t k, const Complex64* scale);
  void (*small_complex128)(Complex128* c, const Complex128* a, int64_t a_row, int64_t a_column,
                           const Complex128* b, int64_t b_row, int64_t b_column, int64_t m,
                           int64_t n, int64_t k, const Complex128* scale);
};

UH_PER_ISA(GemmLoops, gemm_loops)

}  // namespace uh
