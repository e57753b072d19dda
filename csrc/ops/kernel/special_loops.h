// Loops of expressions that look at their operands before they run: powers and neighbours.
#pragma once

#include "ops/kernel/loops.h"
#include "ops/kernel/math.h"

namespace uh::UH_ISA {

// One exponent for all elements: the powers that are products, roots and quotients are computed as
// such, exactly and many times faster than by exp and log.
template <class Out, class A, class B, class F>
void pow_loop(char* const* d, const int64_t* s, int64_t n, F f) {
  using T = compute_t<A>;
  if constexpr (std::is_floating_point_v<T>) {
    if (n > 0 && s[2] == 0) {
      const T power = load<B>(d[2]);
      const auto run = [&](auto g) { loop<Out, A>(d, s, n, g); };
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

// The neighbour of a 16-bit float is found among 16-bit floats, not among those it is computed in.
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

}  // namespace uh::UH_ISA
