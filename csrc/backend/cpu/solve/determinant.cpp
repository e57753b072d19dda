// Determinants: the product of U's diagonal, and the sign of the row permutation.
#include <cmath>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/linalg/matrices.h"
#include "backend/cpu/solve/factors.h"
#include "generated/kernels/solve.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/solve.h"
#include "generated/ops/transcendental.h"
#include "ops/linalg/checks.h"

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

// Calls f(i, diagonal step, sign) for each matrix's factors.
template <class T, class F>
void for_factors(const Factors& factors, int64_t n, const F& f) {
  const int64_t members = factors.info.numel();
  for (int64_t i = 0; i < members; ++i)
    f(i, factors.lu.data_as<T>() + i * n * n,
      T(static_cast<real_t<T>>(exchange_sign(factors.pivots.data_as<int32_t>() + i * n, n))));
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> det_with_factors(KeySet, const Tensor& a) {
  check_square(a, "linalg.det");
  check_lapack_dtype_unless_empty(a, "linalg.det");
  const Tensor result = empty(batch_of(a), a.dtype(), a.device());
  const Factors factors = lu_factors(a, "linalg.det");
  if (!a.is_meta() && a.numel() == 0) {  // empty product
    fill_elements(result, element_bytes(Scalar(1), a.dtype()));
    record_write(result);
  } else if (!a.is_meta()) {
    const int64_t n = rows_of(a);
    visit_lapack(a.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for_factors<T>(factors, n, [&](int64_t i, const T* lu, T product) {
        for (int64_t d = 0; d < n; ++d) product = product * lu[d * (n + 1)];
        result.data_as<T>()[i] = product;
      });
    });
    record_write(result);
  }
  return {result, factors.lu, factors.pivots};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> slogdet_with_factors(KeySet, const Tensor& a) {
  check_square(a, "linalg.slogdet");
  check_lapack_dtype(a, "linalg.slogdet", Lapack::kDtypes);
  const Tensor sign = empty(batch_of(a), a.dtype(), a.device());
  const Tensor log = empty(batch_of(a), to_real(a.dtype()), a.device());
  const Factors factors = lu_factors(a, "linalg.slogdet");
  if (!a.is_meta()) {
    const int64_t n = rows_of(a);
    visit_lapack(a.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for_factors<T>(factors, n, [&](int64_t i, const T* lu, T product) {
        real_t<T> sum = 0;
        for (int64_t d = 0; d < n; ++d) {
          product = product * direction(lu[d * (n + 1)]);
          sum += std::log(magnitude(lu[d * (n + 1)]));
        }
        sign.data_as<T>()[i] = product;
        log.data_as<real_t<T>>()[i] = sum;
      });
    });
    record_write(sign);
    record_write(log);
  }
  return {sign, log, factors.lu, factors.pivots};
}

Tensor linalg_det(KeySet, const Tensor& a) { return std::get<0>(ops::_linalg_det(a)); }

std::tuple<Tensor, Tensor> linalg_slogdet(KeySet, const Tensor& a) {
  const auto [sign, log, lu, pivots] = ops::_linalg_slogdet(a);
  return {sign, log};
}

Tensor logdet(KeySet, const Tensor& a) {
  check_square(a, "logdet");
  check_lapack_dtype(a, "logdet", Lapack::kDtypes);
  const auto [sign, log] = ops::linalg_slogdet(a);
  if (is_complex(a.dtype())) return ops::add(ops::log(sign), log, Scalar(1));
  return ops::where(ops::eq(sign, Scalar(-1.0)), Scalar(std::nan("")), log);
}

}  // namespace uh::kernels
