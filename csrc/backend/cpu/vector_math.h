// log, log1p and erfinv of floats in a form that the compiler vectorises, and bit operations used
// by exp, tanh and erf, which codegen/helpers.yaml declares (generated/helpers.h).
//
// Not libmvec: its calls cannot be inlined, and its logarithms leave the vector code for a single
// negative number. Networks spend their time in these functions; straight-line arithmetic on whole
// registers reaches memory speed on one core. Errors, measured over every 1021st float by
// tests/ops/test_vector_math.py: exp and log 2 ulp, log1p 3 ulp, sigmoid 3 ulp, tanh and erf 6 ulp.
#pragma once

#include <bit>
#include <cstdint>

#include "backend/cpu/isa.h"

namespace uh::UH_ISA::m {

// Returns the smaller of two non-negative floats, compared as integers: floats of one sign are
// ordered like their bits. A float comparison would need a mask for NaN; here a NaN becomes
// `limit`, and keep_nan() restores it at the end.
inline float at_most(float x, float limit) {
  const auto a = std::bit_cast<int32_t>(x), b = std::bit_cast<int32_t>(limit);
  return std::bit_cast<float>(a < b ? a : b);
}
inline float shift_bits(float x, int64_t n) {
  return std::bit_cast<float>(std::bit_cast<int32_t>(x) << n);
}

// A positive float as 2**n (1 + f) with 1 + f in [2/3, 4/3).
struct Split {
  float f, n;
};
inline Split split_log(float x) {
  const auto bits = std::bit_cast<int32_t>(x);
  const int32_t n = static_cast<int32_t>(static_cast<uint32_t>(bits) - 0x3f2aaaabu) >> 23;
  const auto part = static_cast<int32_t>(bits - (static_cast<uint32_t>(n) << 23));
  return {std::bit_cast<float>(part) - 1.0f, static_cast<float>(n)};
}

// n ln 2 + log(1 + f): f - f**2 / 2 + f**3 Q(f) with a minimax polynomial Q, and ln 2 in two parts.
inline float log_split(float f, float n) {
  float q = -0.12891601026058197f;
  q = q * f + 0.13984467089176178f;
  q = q * f - 0.12184277921915054f;
  q = q * f + 0.14005862176418304f;
  q = q * f - 0.16680486500263214f;
  q = q * f + 0.20010405778884888f;
  q = q * f - 0.24999797344207764f;
  q = q * f + 0.3333321511745453f;
  const float square = f * f;
  const float remainder = q * f * square - 0.5f * square;
  return n * 0.693359375f + (n * -2.12194440e-4f + remainder + f);
}

// Sets the ends of a logarithm: -infinity at 0, NaN below 0 and for NaN, infinity at infinity.
inline float log_ends(float x, float result) {
  constexpr float kInf = __builtin_inff();
  const float low = x == 0.0f ? -kInf : __builtin_nanf("");
  const float inside = x > 0.0f ? result : low;
  return x == kInf ? kInf : inside;
}

inline float log_float(float x) {
  const bool subnormal = x < 0x1p-126f;
  const Split s = split_log(subnormal ? x * 0x1p23f : x);
  return log_ends(x, log_split(s.f, s.n - (subnormal ? 23.0f : 0.0f)));
}

// log(1 + x): adds the rounding error of 1 + x to its fraction.
inline float log1p_float(float x) {
  const float u = 1.0f + x;
  const float back = u - 1.0f;
  const float lost = (1.0f - (u - back)) + (x - back);
  const Split s = split_log(u);
  const auto n = static_cast<int32_t>(s.n);
  const float scale = std::bit_cast<float>((127 - (n < 120 ? n : 120)) << 23);
  const float result = log_ends(u, log_split(s.f + lost * scale, s.n));
  return x == 0.0f ? x : result;
}

// The polynomial in x with the given coefficients, highest power first.
template <class T, class... Lower>
[[gnu::always_inline]] inline T polynomial(T, T sum) {
  return sum;
}
template <class T, class... Lower>
[[gnu::always_inline]] inline T polynomial(T x, T sum, T next, Lower... lower) {
  return polynomial(x, sum * x + next, lower...);
}

// The inverse of erf is y P(w) with w = -log(1 - y**2); near the ends, y P(sqrt(w)). The
// polynomials are minimax fits with a relative error of 1e-8.
[[gnu::always_inline]] inline float erfinv_float(float y) {
  const float a = __builtin_fabsf(y);
  const float w = -log_float((1.0f - a) * (1.0f + a));
  const float near = polynomial(w - 2.5f, -8.79104322e-09f, 2.32326419e-08f, 4.66170479e-07f,
                                -3.46270473e-06f, -4.963347e-06f, 0.000218344439f, -0.00125274188f,
                                -0.00417738678f, 0.246640286f, 1.50140936f);
  const float far = polynomial(__builtin_sqrtf(w) - 3.16131567f, 0.000115704151f, -0.000141589043f,
                               -0.000347894946f, 0.00123621298f, -0.00225392274f, 0.00334365305f,
                               -0.00478222448f, 0.0065009868f, 1.00421035f, 2.99477988f);
  const float ratio = w < 5.0f ? near : far;
  return y * (a == 1.0f ? __builtin_inff() : ratio);
}

}  // namespace uh::UH_ISA::m
