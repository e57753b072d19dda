// float16 and bfloat16: 16-bit values that convert to and from float (round to nearest even).
#pragma once

#include <bit>
#include <cstdint>

// The conversions are instructions; without them the compiler's _Float16 calls a slow function.
#if defined(__FLT16_MAX__) && (defined(__F16C__) || defined(__aarch64__))
#define UH_HALF_CONVERSIONS
#endif

namespace uh {

struct Half {
  uint16_t bits = 0;
  Half() = default;
  // Conversions are always inlined, so that no translation unit runs another's instruction set.
  [[gnu::always_inline]] explicit Half(float value) : bits(encode(value)) {}
  [[gnu::always_inline]] operator float() const { return decode(bits); }

  [[gnu::always_inline]] static uint16_t encode(float value) {
#ifdef UH_HALF_CONVERSIONS
    return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
#else
    const uint32_t x = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (x >> 16) & 0x8000u;
    const uint32_t magnitude = x & 0x7fffffffu;
    const uint32_t odd = (magnitude >> 13) & 1u;
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;  // the FPU rounds subnormals
    const uint32_t small = std::bit_cast<uint32_t>(shifted) - 0x3f000000u;
    const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + odd) >> 13;
    const uint32_t finite = magnitude < 0x38800000u ? small : normal;
    const uint32_t large = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    return static_cast<uint16_t>(sign | (magnitude >= 0x477ff000u ? large : finite));
#endif
  }
  [[gnu::always_inline]] static float decode(uint16_t h) {
#ifdef UH_HALF_CONVERSIONS
    return static_cast<float>(std::bit_cast<_Float16>(h));
#else
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
    const uint32_t magnitude = h & 0x7fffu;
    const float subnormal = static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f;
    // float's exponents are larger by 112; those of infinity and NaN by twice as much.
    const uint32_t rebias = magnitude >= 0x7c00u ? 0x70000000u : 0x38000000u;
    const uint32_t normal = (magnitude << 13) + rebias;
    return std::bit_cast<float>(sign |
                                (magnitude < 0x400u ? std::bit_cast<uint32_t>(subnormal) : normal));
#endif
  }
};

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  [[gnu::always_inline]] explicit BFloat16(float value) : bits(encode(value)) {}
  [[gnu::always_inline]] operator float() const { return decode(bits); }

  [[gnu::always_inline]] static uint16_t encode(float value) {
    const uint32_t x = std::bit_cast<uint32_t>(value);
    if ((x & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;
    return static_cast<uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
  }
  [[gnu::always_inline]] static float decode(uint16_t bits) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

}  // namespace uh
