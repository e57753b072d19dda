// Loops of 16-bit floats: the loop of floats, over tiles of widened elements.
//
// Why: an expression on 16-bit floats is computed in float and rounded once, at the store. Compiled
// for each type it was long code that the compiler did not vectorise; the conversions are two
// instructions for a register of elements, and the loop of floats exists already.
#pragma once

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include <cstring>

#include "backend/cpu/loops.h"
#include "ops/pointwise.h"

namespace uh::UH_ISA {

inline void widen_dense(const BFloat16* from, int64_t n, float* to) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = BFloat16::decode(from[i].bits);
}
inline void narrow_dense(const float* from, int64_t n, BFloat16* to) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const auto x = std::bit_cast<uint32_t>(from[i]);
    const uint32_t rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
    to[i].bits = static_cast<uint16_t>((x & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
  }
}

inline void widen_dense(const Half* from, int64_t n, float* to) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
  }
#endif
  for (; i < n; ++i) to[i] = Half::decode(from[i].bits);
}
inline void narrow_dense(const float* from, int64_t n, Half* to) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
  }
#endif
  for (; i < n; ++i) to[i].bits = Half::encode(from[i]);
}

template <class Small>
[[gnu::noinline]] void widen(const char* from, int64_t stride, int64_t n, float* to) {
  if (stride == int64_t{sizeof(Small)})
    return widen_dense(reinterpret_cast<const Small*>(from), n, to);
  Small tile[kTile];
  gather(from, stride, n, tile);
  widen_dense(tile, n, to);
}
template <class Small>
[[gnu::noinline]] void narrow(const float* from, int64_t n, char* to, int64_t stride) {
  if (stride == int64_t{sizeof(Small)}) return narrow_dense(from, n, reinterpret_cast<Small*>(to));
  Small tile[kTile];
  narrow_dense(from, n, tile);
  scatter(tile, n, to, stride);
}

// Runs `loop_of_floats` on kInputs operands of type Small. `Out` is Small, or what both loops store.
template <class Small, class Out, int kInputs>
void widened(LoopFn loop_of_floats, char* const* d, const int64_t* s, int64_t n, const Params& q) {
  alignas(64) float tiles[kInputs + 1][kTile];
  char* data[kInputs + 1];
  int64_t strides[kInputs + 1];
  for (int k = 1; k <= kInputs; ++k) {
    data[k] = reinterpret_cast<char*>(tiles[k]);
    strides[k] = s[k] == 0 ? 0 : int64_t{sizeof(float)};
    if (s[k] == 0) tiles[k][0] = static_cast<float>(*reinterpret_cast<const Small*>(d[k]));
  }
  constexpr bool kNarrowed = std::is_same_v<Out, Small>;
  strides[0] = kNarrowed ? int64_t{sizeof(float)} : s[0];
  for (int64_t first = 0; first < n; first += kTile) {
    const int64_t count = std::min(kTile, n - first);
    for (int k = 1; k <= kInputs; ++k)
      if (s[k] != 0) widen<Small>(d[k] + first * s[k], s[k], count, tiles[k]);
    char* const out = d[0] + first * s[0];
    data[0] = kNarrowed ? reinterpret_cast<char*>(tiles[0]) : out;
    loop_of_floats(data, strides, count, q);
    if constexpr (kNarrowed) narrow<Small>(tiles[0], count, out, s[0]);
  }
}

}  // namespace uh::UH_ISA
