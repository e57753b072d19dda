// Determinants: the product of U's diagonal, and the sign of the row permutation.
#include <cmath>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/linalg/matrices.h"
#include "backend/cpu/solve/factors.h"
#include "generated/kernels/solve.h"

namespace uh::kernels {
namespace {

// Returns +1 or -1: each row exchange flips the sign.
double exchange_sign(const int32_t* pivots, int64_t n) {
  double sign = 1;
  for (int64_t i = 0; i < n; ++i)
    if (pivots[i] != i + 1) sign = -sign;
  return sign;
}

template <class T>
real_t<T> magnitude(T v) {
  if constexpr (is_complex_v<T>)
    return std::hypot(v.re, v.im);
  else
    return std::abs(v);
}

// v / |v|; 0 for 0.
template <class T>
T direction(T v) {
  const real_t<T> size = magnitude(v);
  if (size == 0) return T(0);
  if constexpr (is_complex_v<T>)
    return T(v.re / size, v.im / size);
  else
    return std::isnan(v) ? v : v > 0 ? T(1) : T(-1);
}

// Calls f(i, the first element of LU, the sign of the row exchanges) for each matrix's factors.
template <class T, class F>
void for_factors(const Factors& factors, int64_t n, const F& f) {
  const int64_t members = factors.info.numel();
  for (int64_t i = 0; i < members; ++i)
    f(i, factors.lu.data_as<T>() + i * n * n,
      T(static_cast<real_t<T>>(exchange_sign(factors.pivots.data_as<int32_t>() + i * n, n))));
}

}  // namespace

void det_with_factors(const Tensor& a, const Tensor& result, const Tensor& lu,
                      const Tensor& pivots) {
  const Factors factors{lu, pivots, empty(batch_of(a), DType::kInt32)};
  write_factors(a, factors);
  if (a.numel() == 0)  // empty product
    return fill_elements(result, element_bytes(Scalar(1), a.dtype()));
  const int64_t n = rows_of(a);
  visit_lapack(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_factors<T>(factors, n, [&](int64_t i, const T* diagonal, T product) {
      for (int64_t d = 0; d < n; ++d) product = product * diagonal[d * (n + 1)];
      result.data_as<T>()[i] = product;
    });
  });
}

void slogdet_with_factors(const Tensor& a, const Tensor& sign, const Tensor& log, const Tensor& lu,
                          const Tensor& pivots) {
  const Factors factors{lu, pivots, empty(batch_of(a), DType::kInt32)};
  write_factors(a, factors);
  const int64_t n = rows_of(a);
  visit_lapack(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_factors<T>(factors, n, [&](int64_t i, const T* diagonal, T product) {
      real_t<T> sum = 0;
      for (int64_t d = 0; d < n; ++d) {
        product = product * direction(diagonal[d * (n + 1)]);
        sum += std::log(magnitude(diagonal[d * (n + 1)]));
      }
      sign.data_as<T>()[i] = product;
      log.data_as<real_t<T>>()[i] = sum;
    });
  });
}

}  // namespace uh::kernels
