// Loops of 16-bit floats whose floats stay in registers, a block of elements at a time.
//
// For short expressions (codegen/pointwise.py decides): storing and reading their operands as
// floats, as widened.h does, takes longer than computing them. Compiled once per instruction set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "base/half.h"
#include "ops/pointwise.h"

namespace uh::UH_ISA {

inline constexpr int64_t kBlockElements = 16;  // a register of AVX-512, two of AVX2

// load_block and store_block convert a block; the floats are aligned. Without intrinsics, GCC keeps
// the floats of bfloat16 in memory.
#if defined(__AVX512F__) && defined(__AVX512BW__)
inline constexpr __mmask16 kWholeBlock = 0xffff;  // g++ 12 warns of conversions without a mask

[[gnu::always_inline]] inline void load_block(float* to, const Half* from) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  _mm512_store_ps(to, _mm512_maskz_cvtph_ps(kWholeBlock, bits));
}
[[gnu::always_inline]] inline void store_block(Half* to, const float* from) {
  const __m256i bits = _mm512_maskz_cvtps_ph(kWholeBlock, _mm512_load_ps(from), 0);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bits);
}
[[gnu::always_inline]] inline void load_block(float* to, const BFloat16* from) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m512i wide = _mm512_maskz_cvtepu16_epi32(kWholeBlock, bits);
  _mm512_store_si512(to, _mm512_maskz_slli_epi32(kWholeBlock, wide, 16));
}
[[gnu::always_inline]] inline void store_block(BFloat16* to, const float* from) {
  const __m512 x = _mm512_load_ps(from);
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i upper = _mm512_maskz_srli_epi32(kWholeBlock, bits, 16);
  const __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
  const __m512i sum = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __m512i rounded = _mm512_mask_mov_epi32(_mm512_maskz_srli_epi32(kWholeBlock, sum, 16),
                                                _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q),
                                                _mm512_set1_epi32(0x7fc0));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      _mm512_maskz_cvtepi32_epi16(kWholeBlock, rounded));
}
#elif defined(__AVX2__) && defined(__F16C__)
[[gnu::always_inline]] inline void load_block(float* to, const Half* from) {
  for (int64_t i = 0; i < kBlockElements; i += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_store_ps(to + i, _mm256_cvtph_ps(bits));
  }
}
[[gnu::always_inline]] inline void store_block(Half* to, const float* from) {
  for (int64_t i = 0; i < kBlockElements; i += 8) {
    const __m128i bits = _mm256_cvtps_ph(_mm256_load_ps(from + i), 0);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), bits);
  }
}
[[gnu::always_inline]] inline void load_block(float* to, const BFloat16* from) {
  for (int64_t i = 0; i < kBlockElements; i += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    const __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16);
    _mm256_store_ps(to + i, _mm256_castsi256_ps(wide));
  }
}
// The nearest bfloat16 of each float, in the low half of its lane.
[[gnu::always_inline]] inline __m256i bfloat16_lanes(const float* from) {
  const __m256 x = _mm256_load_ps(from);
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i sum = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  return _mm256_blendv_epi8(_mm256_srli_epi32(sum, 16), _mm256_set1_epi32(0x7fc0),
                            _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
}
[[gnu::always_inline]] inline void store_block(BFloat16* to, const float* from) {
  const __m256i packed = _mm256_packus_epi32(bfloat16_lanes(from), bfloat16_lanes(from + 8));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(packed, 0xd8));
}
#else
template <class Small>
[[gnu::always_inline]] inline void load_block(float* to, const Small* from) {
#pragma omp simd
  for (int64_t i = 0; i < kBlockElements; ++i) to[i] = Small::decode(from[i].bits);
}
template <class Small>
[[gnu::always_inline]] inline void store_block(Small* to, const float* from) {
#pragma omp simd
  for (int64_t i = 0; i < kBlockElements; ++i) to[i].bits = Small::encode(from[i]);
}
#endif

// The blocks of n elements. Operand k is dense, or a number if kIsNumber says so.
template <class Small, bool... kIsNumber, std::size_t... I, class F>
void run_blocks(char* const* d, const float* numbers, int64_t n, F f, std::index_sequence<I...>) {
  auto* out = reinterpret_cast<Small*>(d[0]);
  const Small* const in[] = {reinterpret_cast<const Small*>(d[I + 1])...};
  const auto block = [&](Small* to, auto... from) __attribute__((always_inline)) {
    alignas(64) float x[sizeof...(I)][kBlockElements], result[kBlockElements];
    ((kIsNumber ? void() : load_block(x[I], from)), ...);
#pragma omp simd
    for (int64_t i = 0; i < kBlockElements; ++i)
      result[i] = f((kIsNumber ? numbers[I] : x[I][i])...);
    store_block(to, result);
  };
  int64_t first = 0;
  for (; first + kBlockElements <= n; first += kBlockElements)
    block(out + first, (in[I] + first)...);
  if (first == n) return;
  Small tail[sizeof...(I) + 1][kBlockElements] = {};
  ((kIsNumber ? void() : void(std::copy(in[I] + first, in[I] + n, tail[I + 1]))), ...);
  block(tail[0], static_cast<const Small*>(tail[I + 1])...);
  std::copy_n(tail[0], n - first, out + first);
}

// Computes `f` of 1 to 3 operands of type Small in blocks. Returns false, and computes nothing,
// where the operands are neither dense nor numbers.
template <class Small, class F>
bool in_blocks(char* const* d, const int64_t* s, int64_t n, const Params& q, F f) {
  constexpr bool kUnary = std::is_invocable_v<F, float>;
  constexpr bool kBinary = std::is_invocable_v<F, float, float>;
  constexpr std::size_t kInputs = kUnary ? 1 : kBinary ? 2 : 3;
  constexpr auto kSize = int64_t{sizeof(Small)};
  if (n == 0) return true;
  if (s[0] != kSize) return false;
  float numbers[kInputs];
  unsigned is_number = 0;  // a bit per operand
  for (std::size_t k = 0; k < kInputs; ++k) {
    if (s[k + 1] != kSize && s[k + 1] != 0) return false;
    numbers[k] = static_cast<float>(*reinterpret_cast<const Small*>(d[k + 1]));
    if (k + 1 == kInputs && q.exact_number())
      std::memcpy(&numbers[k], d[k + 1] + Slot::kExactNumber, sizeof(float));
    if (s[k + 1] == 0) is_number |= 1u << k;
  }
  const auto indices = std::make_index_sequence<kInputs>();
  if constexpr (kUnary) {
    if (is_number == 0b0) return run_blocks<Small, false>(d, numbers, n, f, indices), true;
  } else if constexpr (kBinary) {
    if (is_number == 0b00) return run_blocks<Small, false, false>(d, numbers, n, f, indices), true;
    if (is_number == 0b10) return run_blocks<Small, false, true>(d, numbers, n, f, indices), true;
    if (is_number == 0b01) return run_blocks<Small, true, false>(d, numbers, n, f, indices), true;
  } else {
    if (is_number == 0b000)
      return run_blocks<Small, false, false, false>(d, numbers, n, f, indices), true;
    if (is_number == 0b100)
      return run_blocks<Small, false, false, true>(d, numbers, n, f, indices), true;
  }
  return false;
}

}  // namespace uh::UH_ISA
