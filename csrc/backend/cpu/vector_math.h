// log and log1p of floats in a form that the compiler vectorises, and bit operations used by exp,
// tanh and erf, which codegen/helpers.yaml declares (generated/helpers.h).
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

}  // namespace uh::UH_ISA::m
