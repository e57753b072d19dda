// Functions of one formula that yaml expressions may call beside those of math.h: activations,
// logarithms of sums, number theory, closeness.
#pragma once

#include "backend/cpu/complex_math.h"
#include "backend/cpu/math.h"
#include "base/half.h"

namespace uh::UH_ISA {

// What a parameter of the schema type float is for an expression computed in T.
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

// ---- on the line

// From the nearer end, so that weight 1 gives `end` exactly.
template <class T>
inline T lerp(T start, T end, T weight) {
  if constexpr (is_complex_v<T>) {
    const bool near = weight.re * weight.re + weight.im * weight.im < 0.25f;
    return near ? start + weight * (end - start) : end - (end - start) * (T(1) - weight);
  } else {
    const T way = end - start;
    return abs(weight) < T(0.5) ? start + weight * way : end - way * (T(1) - weight);
  }
}

template <class T>
inline T heaviside(T x, T at_zero) {
  return x == 0 ? at_zero : static_cast<T>(x > 0);
}

template <class T>
inline T round_to(T x, int64_t decimals) {
  const T scale = static_cast<T>(std::pow(10.0, __builtin_fabs(static_cast<double>(decimals))));
  return decimals < 0 ? rint(x / scale) * scale : rint(x * scale) / scale;
}

inline float nextafter(float x, float y) { return ::nextafterf(x, y); }
inline double nextafter(double x, double y) { return ::nextafter(x, y); }

// For 16-bit floats: those of one sign sort like their bits.
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

template <class T>
inline bool isfinite(T x) {
  return !isnan(x) && !isinf(x);
}

template <class E, class T>
inline T nan_to_num(T x, T nan, bool has_high, T high, bool has_low, T low) {
  constexpr bool kHalf = std::is_same_v<E, Half>, kBrain = std::is_same_v<E, BFloat16>;
  const T max_value = kHalf ? T(65504) : kBrain ? T(0x1.FEp127f) : std::numeric_limits<T>::max();
  if (isnan(x)) return nan;
  if (x == std::numeric_limits<T>::infinity()) return has_high ? high : max_value;
  if (x == -std::numeric_limits<T>::infinity()) return has_low ? low : -max_value;
  return x;
}

// |a - b| <= atol + rtol |b|; equal elements are close whatever they are (infinities).
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

// ---- logarithms and sines

template <class T>
inline T logaddexp(T a, T b) {
  const T high = a > b || isnan(a) ? a : b;
  return isinf(a) && a == b ? a : high + log1p(exp(-abs(a - b)));
}
template <class T>
inline T logaddexp2(T a, T b) {
  const T high = a > b || isnan(a) ? a : b;
  return isinf(a) && a == b ? a : high + log1p(exp2(-abs(a - b))) * T(1.44269504088896340736);
}
template <class T>
inline T xlogy(T x, T y) {
  if (isnan(y)) return y;
  return x == 0 ? T(0) : x * log(y);
}
template <class T>
inline T xlog1py(T x, T y) {
  if (isnan(y)) return y;
  return x == 0 ? T(0) : x * log1p(y);
}
template <class T>
inline T logit(T x, bool has_eps, T eps) {
  if (has_eps) x = x < eps ? eps : x > T(1) - eps ? T(1) - eps : x;
  return log(x / (T(1) - x));
}
template <class T>
inline T sinc(T x) {
  const T angle = x * T(3.14159265358979323846);
  return x == 0 ? T(1) : sin(angle) / angle;
}
template <class R>
inline Complex<R> sinc(Complex<R> z) {
  const Complex<R> angle = z * R(3.14159265358979323846);
  return z == Complex<R>(0) ? Complex<R>(1) : sin(angle) / angle;
}

// ---- activations

template <class T>
inline T elu(T x, T alpha, T scale, T input_scale) {
  return x <= 0 ? expm1(x * input_scale) * (alpha * scale) : x * scale;
}
template <class T>
inline T silu(T x) {
  return x / (T(1) + exp(-x));
}
template <class T>
inline T mish(T x) {
  return x * tanh(log1p(exp(x)));
}
template <class T>
inline T softplus(T x, T beta, T threshold) {
  const T scaled = x * beta;
  return scaled > threshold ? x : log1p(exp(scaled)) / beta;
}
template <class T>
inline T log_sigmoid(T x) {
  return (x < 0 ? x : isnan(x) ? x : T(0)) - log1p(exp(-abs(x)));
}
template <class T>
inline T gelu_none(T x) {
  return x * T(0.5) * (T(1) + erf(x * T(0.70710678118654752440)));
}
template <class T>
inline T gelu_tanh(T x) {
  const T inner = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
  return T(0.5) * x * (T(1) + tanh(inner));
}

// ---- their derivatives

template <class T>
inline T silu_slope(T x) {
  const T s = sigmoid(x);
  return s * (T(1) + x * (T(1) - s));
}
// tanh(softplus(x)) = n / (n + 2) with n = e^2x + 2 e^x: one exponential for all of it.
template <class T>
inline T mish_slope(T x) {
  const T e = exp(x > T(20) ? T(20) : x), n = e * (e + T(2)), whole = n + T(2);
  return (n + T(4) * x * e * (T(1) + e) / whole) / whole;
}
// exp2 and not exp: beside erf, GCC joins the questions of both whether x is a NaN, and then finds
// no vector loop.
template <class T>
inline T gelu_none_slope(T x) {
  const T density = exp2(x * x * T(-0.72134752044448170368)) * T(0.39894228040143267794);
  return T(0.5) * (T(1) + erf(x * T(0.70710678118654752440))) + x * density;
}
template <class T>
inline T gelu_tanh_slope(T x) {
  const T k = T(0.79788456080286535588), square = x * x;
  const T t = tanh(k * (x + T(0.044715) * square * x));
  return T(0.5) * (T(1) + t + x * (T(1) - t * t) * k * (T(1) + T(3 * 0.044715) * square));
}

}  // namespace m
}  // namespace uh::UH_ISA
