// Complex functions that yaml expressions may call: overloads of the functions in math.h.
//
// exp, log, sqrt, the trigonometric and hyperbolic functions and their inverses are the C
// library's, with the branch cuts, signed zeros and infinities of C99 Annex G.
#pragma once

#include "backend/cpu/math.h"
#include "base/complex.h"

namespace uh::UH_ISA::m {

template <class R>
using CLibrary =
    std::conditional_t<std::is_same_v<R, float>, __complex__ float, __complex__ double>;

template <class R>
inline CLibrary<R> to_c(Complex<R> z) {
  return std::bit_cast<CLibrary<R>>(z);
}
inline Complex64 from_c(__complex__ float z) { return std::bit_cast<Complex64>(z); }
inline Complex128 from_c(__complex__ double z) { return std::bit_cast<Complex128>(z); }

#define UH_COMPLEX(name)                                                                           \
  inline Complex64 name(Complex64 z) { return from_c(__builtin_c##name##f(to_c(z))); }             \
  inline Complex128 name(Complex128 z) { return from_c(__builtin_c##name(to_c(z))); }
UH_COMPLEX(exp)
UH_COMPLEX(log)
UH_COMPLEX(sqrt)
UH_COMPLEX(sin)
UH_COMPLEX(cos)
UH_COMPLEX(tan)
UH_COMPLEX(asin)
UH_COMPLEX(acos)
UH_COMPLEX(atan)
UH_COMPLEX(sinh)
UH_COMPLEX(cosh)
UH_COMPLEX(tanh)
UH_COMPLEX(asinh)
UH_COMPLEX(acosh)
UH_COMPLEX(atanh)
#undef UH_COMPLEX

// |z|. The squares of floats neither overflow nor round in double: one rounding in total.
inline float magnitude(Complex64 z) {
  const double re = z.re, im = z.im;
  const bool infinite = isinf<float>(z.re) | isinf<float>(z.im);
  return infinite ? std::numeric_limits<float>::infinity()
                  : static_cast<float>(sqrt(re * re + im * im));
}
inline double magnitude(Complex128 z) { return hypot(z.re, z.im); }
template <class R>
inline R angle(Complex<R> z) {
  return atan2(z.im, z.re);
}
// The angle of a real number: 0, pi, or NaN.
template <class R>
inline R angle(R x) {
  return x < 0 ? R(3.14159265358979323846) : x != x ? x : R(0);
}
// z / |z|; 0 for 0.
template <class R>
inline Complex<R> sgn(Complex<R> z) {
  const R size = magnitude(z);
  // A complex division gives 0 for a real part of -0, and NaN for both parts of infinite numbers.
  const R nan_if_infinite = size - size;
  return size == 0 ? Complex<R>(0)
                   : Complex<R>(z.re / size + R(0) + nan_if_infinite, z.im / size + nan_if_infinite);
}

template <class R>
inline bool isnan(Complex<R> z) {
  return z.re != z.re || z.im != z.im;
}
template <class R>
inline bool isinf(Complex<R> z) {
  return isinf<R>(z.re) || isinf<R>(z.im);
}
template <class R>
inline bool isfinite(Complex<R> z) {
  return !isnan(z) && !isinf(z);
}

template <class R>
inline Complex<R> exp2(Complex<R> z) {
  return exp(z * R(0.69314718055994530942));
}
template <class R>
inline Complex<R> log2(Complex<R> z) {
  return log(z) * R(1.44269504088896340736);
}
template <class R>
inline Complex<R> log10(Complex<R> z) {
  return log(z) * R(0.43429448190325182765);
}
// log(1 + z): near 0 the magnitude's log is log1p(x (2 + x) + y^2) / 2, without cancellation.
template <class R>
inline Complex<R> log1p(Complex<R> z) {
  const R phase = atan2(z.im, R(1) + z.re), size = magnitude(z);
  if (size > R(0.5)) return {log(hypot(R(1) + z.re, z.im)), phase};
  return {log1p(z.re * (R(2) + z.re) + z.im * z.im) / R(2), phase};
}
// exp(z) - 1: the real part is expm1(x) cos(y) - 2 sin(y/2)^2, without cancellation.
template <class R>
inline Complex<R> expm1(Complex<R> z) {
  const R half = sin(z.im / R(2)), grown = expm1(z.re);
  return {grown * cos(z.im) - R(2) * half * half, exp(z.re) * sin(z.im)};
}
template <class R>
inline Complex<R> sigmoid(Complex<R> z) {
  return Complex<R>(1) / (Complex<R>(1) + exp(-z));
}
template <class R>
inline Complex<R> pow(Complex<R> base, Complex<R> exponent) {
  if (exponent == Complex<R>(0)) return Complex<R>(1);
  if (exponent == Complex<R>(2)) return base * base;
  if (exponent == Complex<R>(R(0.5))) return sqrt(base);
  if constexpr (std::is_same_v<R, float>)
    return from_c(__builtin_cpowf(to_c(base), to_c(exponent)));
  else
    return from_c(__builtin_cpow(to_c(base), to_c(exponent)));
}

}  // namespace uh::UH_ISA::m
