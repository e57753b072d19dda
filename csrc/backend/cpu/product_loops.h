// Matrix products in register tiles, for sizes at which a BLAS loses more by copying than it gains.
//
// c = alpha a b + beta c for matrices that fit the cache. OpenBLAS copies a and b into another
// order, zeroes c and adds to it; here only a panel of b is copied, a is read in place, and c is
// written without being read. Measured on AVX-512 for the products of a small transformer: 0.80 to
// 0.91 of OpenBLAS's time. From about 600 x 600 x 600, where the copies are negligible, OpenBLAS is
// faster.
// Invariant: an element of c is summed in the same order however the product is split into rows and
// columns: the number of threads does not change the result.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cpu/per_isa.h"

namespace uh {

// The type of sums of products, and so of alpha and beta.
template <class T>
using SumOf = std::conditional_t<sizeof(T) == 2, float, T>;

// Strides in elements, non-negative; rows of c are contiguous. With a beta of 0, c is not read.
template <class T>
struct TiledProduct {
  T* c;
  int64_t c_row;
  const T* a;
  int64_t a_row, a_column;
  const T* b;
  int64_t b_row, b_column;
  int64_t m, n, k;
  SumOf<T> alpha, beta;
};

// Both are null below AVX-512.
struct ProductLoops {
  void (*of_float)(const TiledProduct<float>& product);
  void (*of_double)(const TiledProduct<double>& product);
  int64_t register_bytes;
};

UH_PER_ISA(ProductLoops, product_loops)

}  // namespace uh
