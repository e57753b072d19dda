// A vector register, for loops that the compiler does not vectorise well: several sums at once, or
// a reduction of a register to one number. Compiled once per instruction set.
#pragma once

#include <cstdint>
#include <utility>

namespace uh::UH_ISA {

#if defined(__AVX512F__)
inline constexpr int64_t kRegisterBytes = 64;
#elif defined(__AVX2__)
inline constexpr int64_t kRegisterBytes = 32;
#else
inline constexpr int64_t kRegisterBytes = 16;
#endif

template <class T>
struct Lanes {
  static constexpr int64_t kCount = kRegisterBytes / static_cast<int64_t>(sizeof(T));
  typedef T Vector __attribute__((vector_size(kRegisterBytes)));
  typedef T Loose __attribute__((vector_size(kRegisterBytes), aligned(alignof(T)), may_alias));

  static Vector load(const T* from) { return *reinterpret_cast<const Loose*>(from); }
  static void store(T* to, Vector x) { *reinterpret_cast<Loose*>(to) = x; }
  // x - 0 is x, even for x = -0, so it costs nothing; 0 + x would need an addition.
  static Vector all(T x) { return x - Vector{}; }

  // Reduces all lanes to one number by halves.
  template <int64_t kWidth = kCount / 2, class Join>
  static T fold(Vector x, const Join& join) {
    if constexpr (kWidth == 0)
      return x[0];
    else
      return fold<kWidth / 2>(join(x, swapped<kWidth>(x, kLaneNumbers)), join);
  }
  // Sums all lanes of n registers, by halves as well: the order depends only on the total number of
  // lanes, not on the register width.
  template <int64_t n>
  static T sum(Vector (&x)[n]) {
#pragma GCC unroll 8
    for (int64_t half = n / 2; half > 0; half /= 2) {
#pragma GCC unroll 16
      for (int64_t i = 0; i < half; ++i) x[i] += x[i + half];
    }
    return fold(x[0], [](Vector a, Vector b) { return a + b; });
  }

 private:
  static constexpr auto kLaneNumbers = std::make_index_sequence<static_cast<std::size_t>(kCount)>{};
  template <int64_t kWidth, std::size_t... I>
  static Vector swapped(Vector x, std::index_sequence<I...>) {
    return __builtin_shufflevector(x, x, static_cast<int>(I ^ static_cast<std::size_t>(kWidth))...);
  }
};

}  // namespace uh::UH_ISA
