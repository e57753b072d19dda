// exp, log, log1p, tanh, sigmoid and erf for float, written so that the compiler vectorises them.
//
// Why not libmvec: its calls cannot be inlined, its logarithms leave the vector for one negative
// number, and these are what networks spend their time in. Straight-line arithmetic on whole
// registers reaches memory speed on one core. Errors, measured over every 1021st float by
// tests/ops/test_vector_math.py: exp and log 2 ulp, log1p 3 ulp, sigmoid 3 ulp, tanh and erf 6 ulp.
#pragma once

#include <bit>
#include <cstdint>

#include "backend/cpu/isa.h"

namespace uh::UH_ISA::m {

// The smaller of two non-negative floats, compared as integers: floats of one sign sort like their
// bits. A float comparison would have to say what a NaN does, and costs the vectoriser a mask; here
// a NaN becomes `limit`, and keep_nan() at the end puts it back.
inline float at_most(float x, float limit) {
  const auto a = std::bit_cast<int32_t>(x), b = std::bit_cast<int32_t>(limit);
  return std::bit_cast<float>(a < b ? a : b);
}
inline float keep_nan(float x, float result) { return x == x ? result : x; }

// e**x = 2**m * 2**m * e**r with x = 2 m ln 2 + r, |r| <= ln 2. Twice the same factor, because 2m
// reaches 128 at the top and -150 among the subnormal results, where one factor would not be a
// float. Adding 1.5 * 2**23 + 127 rounds to m and leaves m + 127 in the low bits: the factor's
// exponent. Beyond the clamp the result is 0 or infinity anyway. e**r - 1 - r is a minimax
// polynomial (1.6e-8).
inline float exp_float(float x) {
  constexpr float kRound = 12582912.0f + 127.0f;
  const float y = __builtin_copysignf(at_most(__builtin_fabsf(x), 104.0f), x);
  const float shifted = y * 0.72134752044448170f + kRound;
  const float m = shifted - kRound;
  const float r = (y - m * 1.38629150390625f) - m * 2.85721364061883446e-6f;
  const float factor = std::bit_cast<float>(std::bit_cast<int32_t>(shifted) << 23);
  float p = 0.00019606736896093935f;
  p = p * r + 0.0014108415925875306f;
  p = p * r + 0.008336212486028671f;
  p = p * r + 0.04166107252240181f;
  p = p * r + 0.16666610538959503f;
  p = p * r + 0.5000003576278687f;
  const float q = r * r * p + r;
  return keep_nan(x, (q * factor + factor) * factor);
}

// tanh x = x P(x**2) / Q(x**2) up to where it rounds to 1: a minimax fit like erf's below, relative
// error 2e-8 before rounding. One division, and nothing else that waits for it.
inline float tanh_float(float x) {
  const float a = at_most(__builtin_fabsf(x), 9.01f);
  const float t = a * a;
  float p = 1.3336841853117676e-08f;
  p = p * t + 2.0596269678208046e-05f;
  p = p * t + 0.003494810778647661f;
  p = p * t + 0.13380371034145355f;
  p = p * t + 1.0f;
  float q = 7.769280045977212e-07f;
  q = q * t + 0.00032843626104295254f;
  q = q * t + 0.025874026119709015f;
  q = q * t + 0.46713686989379883f;
  q = q * t + 1.0f;
  return keep_nan(x, __builtin_copysignf(at_most(a * p / q, 1.0f), x));
}

inline float sigmoid_float(float x) { return 1.0f / (1.0f + exp_float(-x)); }

// erf x = x P(x**2) / Q(x**2) up to where it rounds to 1; the coefficients are a minimax fit to
// 40-digit values, relative error 2e-8 before rounding.
inline float erf_float(float x) {
  const float a = at_most(__builtin_fabsf(x), 3.925f);
  const float t = a * a;
  float p = 2.0460474843275733e-06f;
  p = p * t + 0.00028483799542300403f;
  p = p * t + 0.0037723567802459f;
  p = p * t + 0.05276871100068092f;
  p = p * t + 0.19058942794799805f;
  p = p * t + 1.1283791065216064f;
  float q = 3.804768857662566e-05f;
  q = q * t + 0.0011638083960860968f;
  q = q * t + 0.014982815831899643f;
  q = q * t + 0.11418091505765915f;
  q = q * t + 0.5022382140159607f;
  q = q * t + 1.0f;
  return keep_nan(x, __builtin_copysignf(at_most(a * p / q, 1.0f), x));
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

// n ln 2 + log(1 + f): f - f**2 / 2 + f**3 Q(f) with a minimax polynomial Q, ln 2 in two parts.
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

// The ends of a logarithm: minus infinity at zero, NaN below and for NaN, infinity at infinity.
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

// log(1 + x): what 1 + x lost in rounding is added to its fraction again.
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

}  // namespace uh::UH_ISA::m
