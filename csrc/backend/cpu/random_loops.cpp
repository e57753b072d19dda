// See the invariant in the header: no fused multiply-add.
#pragma GCC optimize("fp-contract=off,no-math-errno,no-trapping-math")

#include "backend/cpu/random_loops.h"

#include <cstring>

namespace uh::UH_ISA {
namespace {

constexpr int kLanes = RandomLoops::kCounters;

// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011): ten rounds. Word w of
// counter lane l is stored at w[w * kLanes + l].
inline void philox(uint32_t* __restrict w, uint64_t seed, uint64_t counter) {
  uint32_t x0[kLanes], x1[kLanes], x2[kLanes], x3[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const uint64_t c = counter + static_cast<uint64_t>(l);
    x0[l] = static_cast<uint32_t>(c);
    x1[l] = static_cast<uint32_t>(c >> 32);
    x2[l] = 0;
    x3[l] = 0;
  }
  auto key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (int l = 0; l < kLanes; ++l) {
      const uint64_t a = uint64_t{0xD2511F53u} * x0[l];
      const uint64_t b = uint64_t{0xCD9E8D57u} * x2[l];
      x0[l] = static_cast<uint32_t>(b >> 32) ^ x1[l] ^ key0;
      x1[l] = static_cast<uint32_t>(b);
      x2[l] = static_cast<uint32_t>(a >> 32) ^ x3[l] ^ key1;
      x3[l] = static_cast<uint32_t>(a);
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  for (int l = 0; l < kLanes; ++l) {
    w[l] = x0[l];
    w[kLanes + l] = x1[l];
    w[2 * kLanes + l] = x2[l];
    w[3 * kLanes + l] = x3[l];
  }
}

void random_bits(uint32_t* out, uint64_t seed, uint64_t counter, int64_t groups) {
  for (int64_t g = 0; g < groups; ++g) {
    philox(out + g * RandomLoops::kWords, seed, counter + static_cast<uint64_t>(g * kLanes));
  }
}

template <class To, class From>
inline To bit_copy(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// [0, 1) in steps of 2^-24.
inline float unit(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 8)) * 0x1p-24f;
}
// [0, 1) in steps of 2^-53, from two words.
inline double unit(uint32_t high, uint32_t low) {
  const uint64_t bits =
      (uint64_t{high} << 32 | low) >> 12 | 0x3ff0000000000000u;  // [1, 2), 52 bits
  return bit_copy<double>(bits) - 1.0;
}

// ln(x) for 0 < x <= 1: x = 2^e * m with m in [sqrt(1/2), sqrt(2)), and
// ln m = 2 atanh((m - 1) / (m + 1)).
inline float log_unit(float x) {
  const uint32_t bits = bit_copy<uint32_t>(x);
  const uint32_t shifted = bits - 0x3f3504f3u;  // the bits of sqrt(1/2)
  const auto e = static_cast<float>(static_cast<int32_t>(shifted) >> 23);
  const float m = bit_copy<float>((shifted & 0x007fffffu) + 0x3f3504f3u);
  const float t = (m - 1.0f) / (m + 1.0f), s = t * t;
  const float series = 2.0f + s * (0.66666667f + s * (0.4f + s * (0.28571429f + s * 0.22222222f)));
  return e * 0.693147181f + t * series;
}

inline double log_unit(double x) {
  const uint64_t root = 0x3fe6a09e667f3bcdu;
  const uint64_t shifted = bit_copy<uint64_t>(x) - root;
  const int64_t exponent = static_cast<int64_t>(shifted) >> 52;
  const auto m = bit_copy<double>((shifted & 0x000fffffffffffffu) + root);
  const double t = (m - 1.0) / (m + 1.0), s = t * t;
  double series = 2.0 / 21;
  for (int k = 19; k >= 1; k -= 2) series = series * s + 2.0 / k;
  return static_cast<double>(static_cast<int32_t>(exponent)) * 0.69314718055994530942 + t * series;
}

inline float square_root(float x) { return __builtin_sqrtf(x); }
inline double square_root(double x) { return __builtin_sqrt(x); }

// cos and sin of 2 pi u for 0 <= u < 1: reduces u to |r| <= 1/8 turn, for Taylor series. The
// quarter then swaps the two and sets signs by bit operations, as a branch would prevent
// vectorisation.
template <class T, class Bits>
inline void circle(T u, T* cosine, T* sine) {
  const T quarters = u * T(4);
  const auto q = static_cast<int32_t>(quarters + T(0.5));  // 0..4, the nearest quarter turn
  const T r = (quarters - static_cast<T>(q)) * T(1.57079632679489661923), s = r * r;
  T c = T(1.0 / 479001600), n = T(-1.0 / 39916800);
  if constexpr (sizeof(T) == 8) {
    c = T(1.0 / 20922789888000.0) * s - T(1.0 / 87178291200.0);
    c = c * s + T(1.0 / 479001600);
    n = T(-1.0 / 1307674368000.0) * s + T(1.0 / 6227020800.0);
    n = n * s - T(1.0 / 39916800);
  }
  c = c * s - T(1.0 / 3628800);
  c = c * s + T(1.0 / 40320);
  c = c * s - T(1.0 / 720);
  c = c * s + T(1.0 / 24);
  c = c * s - T(0.5);
  c = c * s + T(1);
  n = n * s + T(1.0 / 362880);
  n = n * s - T(1.0 / 5040);
  n = n * s + T(1.0 / 120);
  n = n * s - T(1.0 / 6);
  n = n * s * r + r;
  constexpr int kSign = sizeof(Bits) * 8 - 2;  // moves bit 1 of q to the sign
  const auto turn = static_cast<Bits>(q);
  const Bits swap = Bits{0} - (turn & 1), cos_bits = bit_copy<Bits>(c),
             sin_bits = bit_copy<Bits>(n);
  *cosine = bit_copy<T>(((sin_bits & swap) | (cos_bits & ~swap)) ^ (((turn + 1) & 2) << kSign));
  *sine = bit_copy<T>(((cos_bits & swap) | (sin_bits & ~swap)) ^ ((turn & 2) << kSign));
}

void uniform_float(float* out, uint64_t seed, uint64_t counter, int64_t groups, float lo,
                   float width) {
  uint32_t w[RandomLoops::kWords];
  for (int64_t g = 0; g < groups; ++g, out += RandomLoops::kWords, counter += kLanes) {
    philox(w, seed, counter);
    for (int i = 0; i < RandomLoops::kWords; ++i) out[i] = unit(w[i]) * width + lo;
  }
}

void uniform_double(double* out, uint64_t seed, uint64_t counter, int64_t groups, double lo,
                    double width) {
  uint32_t w[RandomLoops::kWords];
  constexpr int kHalf = RandomLoops::kWords / 2;
  for (int64_t g = 0; g < groups; ++g, out += kHalf, counter += kLanes) {
    philox(w, seed, counter);
    for (int i = 0; i < kHalf; ++i) out[i] = unit(w[i], w[kHalf + i]) * width + lo;
  }
}

// Box-Muller: the first half of the words is the radius, the second half the angle.
void normal_float(float* out, uint64_t seed, uint64_t counter, int64_t groups, float mean,
                  float std) {
  uint32_t w[RandomLoops::kWords];
  constexpr int kHalf = RandomLoops::kWords / 2;
  for (int64_t g = 0; g < groups; ++g, out += RandomLoops::kWords, counter += kLanes) {
    philox(w, seed, counter);
    for (int i = 0; i < kHalf; ++i) {
      // (0, 1] with all 32 bits near 0: normal draws reach 6.6 standard deviations.
      const float u = (static_cast<float>(static_cast<int32_t>(w[i] >> 1)) + 0.5f) * 0x1p-31f;
      const float radius = square_root(-2.0f * log_unit(u)) * std;
      float c, s;
      circle<float, uint32_t>(unit(w[kHalf + i]), &c, &s);
      out[i] = radius * c + mean;
      out[kHalf + i] = radius * s + mean;
    }
  }
}

void normal_double(double* out, uint64_t seed, uint64_t counter, int64_t groups, double mean,
                   double std) {
  uint32_t w[RandomLoops::kWords];
  constexpr int kQuarter = RandomLoops::kWords / 4;
  for (int64_t g = 0; g < groups; ++g, out += 2 * kQuarter, counter += kLanes) {
    philox(w, seed, counter);
    for (int i = 0; i < kQuarter; ++i) {
      const double u = 1.0 - unit(w[i], w[kQuarter + i]);  // (0, 1]
      const double radius = square_root(-2.0 * log_unit(u)) * std;
      double c, s;
      circle<double, uint64_t>(unit(w[2 * kQuarter + i], w[3 * kQuarter + i]), &c, &s);
      out[i] = radius * c + mean;
      out[kQuarter + i] = radius * s + mean;
    }
  }
}

}  // namespace

const RandomLoops& random_loops() {
  static const RandomLoops loops{random_bits, uniform_float, uniform_double, normal_float,
                                 normal_double};
  return loops;
}

}  // namespace uh::UH_ISA
