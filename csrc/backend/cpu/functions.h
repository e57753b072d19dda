// Functions that yaml expressions may call in addition to math.h's, and that are not expressions:
// number theory, closeness, nextafter.
#pragma once

#include "backend/cpu/complex_math.h"
#include "backend/cpu/math.h"
#include "base/half.h"

namespace uh::UH_ISA {

// The type of a schema's float parameter in an expression computed in T.
template <class T>
struct RealOf {
  using type = std::conditional_t<std::is_floating_point_v<T>, T, float>;
};
template <class R>
struct RealOf<Complex<R>> {
  using type = R;
};
template <class T>
using real_t = typename RealOf<T>::type;

namespace m {

// Starts from the nearer end, as the generated lerp of real numbers does.
template <class R>
inline Complex<R> lerp(Complex<R> start, Complex<R> end, Complex<R> weight) {
  const bool near = weight.re * weight.re + weight.im * weight.im < 0.25f;
  return near ? start + weight * (end - start) : end - (end - start) * (Complex<R>(1) - weight);
}

template <class T>
inline T round_to(T x, int64_t decimals) {
  const T scale = static_cast<T>(std::pow(10.0, __builtin_fabs(static_cast<double>(decimals))));
  return decimals < 0 ? rint(x / scale) * scale : rint(x * scale) / scale;
}

inline float nextafter(float x, float y) { return ::nextafterf(x, y); }
inline double nextafter(double x, double y) { return ::nextafter(x, y); }

// For 16-bit floats: those of equal sign are ordered like their bits.
template <class Small>
inline Small next_after(Small x, Small y) {
  const float a = static_cast<float>(x), b = static_cast<float>(y);
  if (a != a || b != b) return Small(a + b);
  if (a == b) return y;
  Small result = x;
  if (a == 0)
    result.bits = static_cast<uint16_t>(b > 0 ? 1 : 0x8001);
  else
    result.bits = static_cast<uint16_t>(result.bits + ((b > a) == (a > 0) ? 1 : -1));
  return result;
}

// ---- integers

template <class T>
inline T gcd(T a, T b) {
  a = abs(a), b = abs(b);
  while (b != 0) {
    const T remainder = static_cast<T>(overflows(b) ? 0 : a % b);
    a = b, b = remainder;
  }
  return abs(a);
}
template <class T>
inline T lcm(T a, T b) {
  const T divisor = gcd(a, b);
  if (divisor == 0) return 0;
  return abs(mul(static_cast<T>(overflows(divisor) ? a : a / divisor), b));
}

// ---- comparison

template <class E, class T>
inline T nan_to_num(T x, T nan, bool has_high, T high, bool has_low, T low) {
  constexpr bool kHalf = std::is_same_v<E, Half>, kBrain = std::is_same_v<E, BFloat16>;
  const T max_value = kHalf ? T(65504) : kBrain ? T(0x1.FEp127f) : std::numeric_limits<T>::max();
  const T above = has_high ? high : max_value, below = has_low ? low : -max_value;
  const T not_low = x == -std::numeric_limits<T>::infinity() ? below : x;
  const T finite = x == std::numeric_limits<T>::infinity() ? above : not_low;
  return isnan(x) ? nan : finite;
}
template <class E, class R>
inline Complex<R> nan_to_num(Complex<R> z, R nan, bool has_high, R high, bool has_low, R low) {
  return {nan_to_num<R>(z.re, nan, has_high, high, has_low, low),
          nan_to_num<R>(z.im, nan, has_high, high, has_low, low)};
}

// |a - b| <= atol + rtol |b|; equal elements are close, infinities included.
template <class T>
inline bool close(T a, T b, real_t<T> rtol, real_t<T> atol, bool equal_nan) {
  if (a == b) return true;
  if constexpr (is_complex_v<T>) {
    if (isnan(a) || isnan(b)) return equal_nan && isnan(a) && isnan(b);
    const auto gap = magnitude(a - b);
    return isfinite(gap) && gap <= atol + abs(rtol * magnitude(b));
  } else {
    if (isnan(a) || isnan(b)) return equal_nan && isnan(a) && isnan(b);
    using R = real_t<T>;
    const R gap = abs(static_cast<R>(a) - static_cast<R>(b));
    return isfinite(gap) && gap <= atol + abs(rtol * static_cast<R>(b));
  }
}

template <class R>
inline Complex<R> sinc(Complex<R> z) {
  const Complex<R> angle = z * R(3.14159265358979323846);
  return z == Complex<R>(0) ? Complex<R>(1) : sin(angle) / angle;
}

}  // namespace m
}  // namespace uh::UH_ISA
