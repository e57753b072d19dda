// The loops under every pointwise expression. Compiled once per instruction set.
//
// What: loop<Out, In...>(data, strides, n, f) stores f(in...) for n elements. The contiguous cases
// are separate loops because only there the compiler uses full vector loads. Invariant: an output
// element may be the same memory as the input element of the same index (in-place), never that of
// another index; run_pointwise refuses partial overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/half.h"

namespace uh::UH_ISA {

// 16-bit floats are computed as float and rounded once at the store.
template <class T>
using compute_t =
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

template <class T>
inline compute_t<T> load(const char* at) {
  return static_cast<compute_t<T>>(*reinterpret_cast<const T*>(at));
}

template <class Out, class V>
inline void store(char* at, V value) {
  *reinterpret_cast<Out*>(at) = static_cast<Out>(value);
}

template <class Out, class A, class F>
void contiguous1(char* const* d, int64_t n, F f) {
  auto* out = reinterpret_cast<Out*>(d[0]);
  const auto* a = reinterpret_cast<const A*>(d[1]);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Out>(f(static_cast<compute_t<A>>(a[i])));
}

// One operand may be a single value (stride 0): it stays in a register.
template <class Out, class A, class B, bool kScalarA, bool kScalarB, class F>
void contiguous2(char* const* d, int64_t n, F f) {
  auto* out = reinterpret_cast<Out*>(d[0]);
  const auto* a = reinterpret_cast<const A*>(d[1]);
  const auto* b = reinterpret_cast<const B*>(d[2]);
  const auto a0 = static_cast<compute_t<A>>(a[0]);
  const auto b0 = static_cast<compute_t<B>>(b[0]);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const auto x = kScalarA ? a0 : static_cast<compute_t<A>>(a[i]);
    const auto y = kScalarB ? b0 : static_cast<compute_t<B>>(b[i]);
    out[i] = static_cast<Out>(f(x, y));
  }
}

// Three operands, of which the last two may be single values: where, addcmul, lerp.
template <class Out, class A, class B, class C, bool kScalarB, bool kScalarC, class F>
void contiguous3(char* const* d, int64_t n, F f) {
  auto* out = reinterpret_cast<Out*>(d[0]);
  const auto* a = reinterpret_cast<const A*>(d[1]);
  const auto* b = reinterpret_cast<const B*>(d[2]);
  const auto* c = reinterpret_cast<const C*>(d[3]);
  const auto b0 = static_cast<compute_t<B>>(b[0]);
  const auto c0 = static_cast<compute_t<C>>(c[0]);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const compute_t<B> y = kScalarB ? b0 : static_cast<compute_t<B>>(b[i]);
    const compute_t<C> z = kScalarC ? c0 : static_cast<compute_t<C>>(c[i]);
    out[i] = static_cast<Out>(f(static_cast<compute_t<A>>(a[i]), y, z));
  }
}

// Not vectorised (the empty asm prevents it): gathers gain nothing here, and double the code.
template <class Out, class... In, std::size_t... I, class F>
void strided(char* const* d, const int64_t* s, int64_t n, F f, std::index_sequence<I...>) {
  char* out = d[0];
  const char* in[] = {d[I + 1]...};
  for (int64_t i = 0; i < n; ++i) {
    store<Out>(out, f(load<In>(in[I])...));
    out += s[0];
    asm("" : "+r"(out));
    ((in[I] += s[I + 1]), ...);
  }
}

// Types whose contiguous loops are worth a separate vector version.
template <class T>
inline constexpr bool kVector = !std::is_same_v<T, bool> && !std::is_same_v<T, Half> &&
                                !std::is_same_v<T, int8_t> && !std::is_same_v<T, int16_t>;

template <class Out, class... In, class F>
void loop(char* const* d, const int64_t* s, int64_t n, F f) {
  if (n == 0) return;
  using First = std::tuple_element_t<0, std::tuple<In...>>;
  const bool dense = s[0] == static_cast<int64_t>(sizeof(Out));
  if constexpr (sizeof...(In) == 1 && kVector<First>) {
    if (dense && s[1] == static_cast<int64_t>(sizeof(First)))
      return contiguous1<Out, First>(d, n, f);
  }
  if constexpr (sizeof...(In) == 2 && kVector<First>) {
    using B = std::tuple_element_t<1, std::tuple<In...>>;
    const bool a = s[1] == static_cast<int64_t>(sizeof(First));
    const bool b = s[2] == static_cast<int64_t>(sizeof(B));
    if (dense && a && b) return contiguous2<Out, First, B, false, false>(d, n, f);
    if (dense && a && s[2] == 0) return contiguous2<Out, First, B, false, true>(d, n, f);
    if (dense && b && s[1] == 0) return contiguous2<Out, First, B, true, false>(d, n, f);
  }
  if constexpr (sizeof...(In) == 3 && kVector<Out>) {
    using B = std::tuple_element_t<1, std::tuple<In...>>;
    using C = std::tuple_element_t<2, std::tuple<In...>>;
    const bool a = dense && s[1] == static_cast<int64_t>(sizeof(First));
    const bool b = s[2] == static_cast<int64_t>(sizeof(B));
    const bool c = s[3] == static_cast<int64_t>(sizeof(C));
    if (a && b && c) return contiguous3<Out, First, B, C, false, false>(d, n, f);
    if (a && b && s[3] == 0) return contiguous3<Out, First, B, C, false, true>(d, n, f);
    if constexpr (sizeof(First) == 1) {  // where: either choice may be a number
      if (a && s[2] == 0 && c) return contiguous3<Out, First, B, C, true, false>(d, n, f);
      if (a && s[2] == 0 && s[3] == 0) return contiguous3<Out, First, B, C, true, true>(d, n, f);
    }
  }
  strided<Out, In...>(d, s, n, f, std::index_sequence_for<In...>{});
}

}  // namespace uh::UH_ISA
