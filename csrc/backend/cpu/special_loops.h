// Loops of expressions that need more than `loop`: powers by exponent, selections, nextafter of
// 16-bit floats, and exp by instructions that C++ cannot express.
#pragma once

#include <limits>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "backend/cpu/loops.h"
#include "backend/cpu/math.h"

namespace uh::UH_ISA {

// A single exponent for all elements: powers that are products, roots or quotients are computed as
// such, exactly and many times faster than by exp and log.
template <class Out, class A, class B, class F>
void pow_loop(char* const* d, const int64_t* s, int64_t n, F f) {
  using T = compute_t<A>;
  if constexpr (std::is_floating_point_v<T> || is_complex_v<T>) {
    if (n > 0 && s[2] == 0) {
      const T power = static_cast<T>(*reinterpret_cast<const B*>(d[2]));
      const auto run = [&](auto g) { loop<Out, A>(d, s, n, g); };
      if (power == T(1)) return run([](T x) { return x; });
      if (power == T(2)) return run([](T x) { return x * x; });
      if (power == T(3)) return run([](T x) { return x * x * x; });
      if (power == T(0.5)) return run([](T x) { return m::sqrt(x); });
      if (power == T(-0.5)) return run([](T x) { return T(1) / m::sqrt(x); });
      if (power == T(-1)) return run([](T x) { return T(1) / x; });
      if (power == T(-2)) return run([](T x) { return T(1) / (x * x); });
    }
  }
  loop<Out, A, B>(d, s, n, f);
}

// Unless one is NaN, the bounds are the results for the lowest and the highest element. With them,
// an element takes two instructions; `f` itself tests whether there is a bound, which GCC does not
// vectorise.
template <class Out, class A, class F>
void clamp_loop(char* const* d, const int64_t* s, int64_t n, F f) {
  using T = compute_t<A>;
  using Limits = std::numeric_limits<T>;
  const T low = f(Limits::has_infinity ? T(-Limits::infinity()) : Limits::lowest());
  const T high = f(Limits::has_infinity ? Limits::infinity() : Limits::max());
  if (!(low <= high)) return loop<Out, A>(d, s, n, f);
  loop<Out, A>(d, s, n, [=](T x) __attribute__((always_inline)) {
    const T raised = x < low ? low : x;
    return raised > high ? high : raised;
  });
}

// A selection only moves bits: as unsigned integers every dtype has a vector loop, and 16-bit
// floats are neither widened nor rounded. GCC does not vectorise a selection by `bool`.
template <class Out, class A, class B, class C, class F>
void where_loop(char* const* d, const int64_t* s, int64_t n, F f) {
  if constexpr (sizeof(Out) <= 8) {
    using Bits = std::conditional_t<
        sizeof(Out) == 1, uint8_t,
        std::conditional_t<sizeof(Out) == 2, uint16_t,
                           std::conditional_t<sizeof(Out) == 4, uint32_t, uint64_t>>>;
    loop<Bits, uint8_t, Bits, Bits>(
        d, s, n, [](uint8_t condition, Bits self, Bits other) { return condition ? self : other; });
  } else {
    loop<Out, A, B, C>(d, s, n, f);
  }
}

// nextafter of a 16-bit float is the next 16-bit float, not the next one of the compute type.
template <class Out, class A, class B, class F>
void nextafter_loop(char* const* d, const int64_t* s, int64_t n, F f) {
  if constexpr (sizeof(A) == 2) {
    for (int64_t i = 0; i < n; ++i) {
      const A x = *reinterpret_cast<const A*>(d[1] + i * s[1]);
      const A y = *reinterpret_cast<const A*>(d[2] + i * s[2]);
      *reinterpret_cast<Out*>(d[0] + i * s[0]) = m::next_after(x, y);
    }
  } else {
    loop<Out, A, B>(d, s, n, f);
  }
}

#if defined(__AVX512F__)
// Like exp of floats (codegen/helpers.yaml), with VSCALEFPS instead of the two factors: x = n ln 2
// + r, |r| <= ln 2 / 2, and scaling by 2**n rounds correctly even for subnormals. min and max keep
// a NaN in their second operand.
inline __m512 exp16(__m512 x) {
  constexpr __mmask16 kAll = 0xffff;  // GCC 12 warns of uninitialised values for the unmasked forms
  const auto all = [](float v) { return _mm512_set1_ps(v); };
  const __m512 y =
      _mm512_maskz_max_ps(kAll, all(-104.0f), _mm512_maskz_min_ps(kAll, all(104.0f), x));
  const __m512 round = all(12582912.0f);
  const __m512 n = _mm512_sub_ps(_mm512_fmadd_ps(y, all(1.44269504088896341f), round), round);
  __m512 r = _mm512_fnmadd_ps(n, all(0.693145751953125f), y);
  r = _mm512_fnmadd_ps(n, all(1.42860682030941723e-6f), r);
  __m512 p = all(0.0013814539415761828f);
  p = _mm512_fmadd_ps(p, r, all(0.00836874544620514f));
  p = _mm512_fmadd_ps(p, r, all(0.04166838899254799f));
  p = _mm512_fmadd_ps(p, r, all(0.1666652113199234f));
  p = _mm512_fmadd_ps(p, r, all(0.4999999403953552f));
  p = _mm512_fmadd_ps(p, r, all(1.0f));
  p = _mm512_fmadd_ps(p, r, all(1.0f));
  return _mm512_maskz_scalef_ps(kAll, p, n);
}
#endif

template <class Out, class A, class F>
void exp_loop(char* const* d, const int64_t* s, int64_t n, F f) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<A, float>) {
    if (s[0] == int64_t{sizeof(float)} && s[1] == int64_t{sizeof(float)}) {
      auto* out = reinterpret_cast<float*>(d[0]);
      const auto* in = reinterpret_cast<const float*>(d[1]);
      int64_t i = 0;
      for (; i + 16 <= n; i += 16) _mm512_storeu_ps(out + i, exp16(_mm512_loadu_ps(in + i)));
      const auto tail_mask = static_cast<__mmask16>((1u << (n - i)) - 1);
      _mm512_mask_storeu_ps(out + i, tail_mask, exp16(_mm512_maskz_loadu_ps(tail_mask, in + i)));
      return;
    }
  }
#endif
  loop<Out, A>(d, s, n, f);
}

}  // namespace uh::UH_ISA
