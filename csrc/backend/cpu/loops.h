// The loops of pointwise expressions. Compiled once per instruction set.
//
// loop<Out, In...>(data, strides, n, f) stores f(in...) for n elements. An expression has only
// dense loops, for which the compiler uses full vector loads; operands with other strides are first
// gathered into tiles. 16-bit floats use the float loops (widened.h).
// Invariant: an output element may share memory with the input element of the same index
// (in-place), but with no other; run_pointwise rejects partial overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "backend/cpu/copy_loops.h"
#include "base/complex.h"
#include "base/half.h"

namespace uh::UH_ISA {

// 16-bit floats are computed as float and rounded once, at the store.
template <class T>
using compute_t =
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

// Element i of dense memory, in its compute type. The parts of complex numbers are read and written
// as numbers: loops over structs are not vectorised.
template <class T>
[[gnu::always_inline]] inline compute_t<T> element(const T* data, int64_t i) {
  if constexpr (is_complex_v<T>) {
    const auto* parts = reinterpret_cast<const typename T::Real*>(data);
    return {parts[2 * i], parts[2 * i + 1]};
  } else {
    return static_cast<compute_t<T>>(data[i]);
  }
}
template <class T, class V>
[[gnu::always_inline]] inline void store(T* data, int64_t i, V value) {
  if constexpr (is_complex_v<T>) {
    const T result(value);
    auto* parts = reinterpret_cast<typename T::Real*>(data);
    parts[2 * i] = result.re;
    parts[2 * i + 1] = result.im;
  } else {
    data[i] = static_cast<T>(value);
  }
}

template <class Out, class A, class F>
void contiguous1(char* const* d, int64_t n, F f) {
  auto* out = reinterpret_cast<Out*>(d[0]);
  const auto* a = reinterpret_cast<const A*>(d[1]);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) store(out, i, f(element(a, i)));
}

// One operand may be a single value (stride 0), kept in a register.
template <class Out, class A, class B, bool kScalarA, bool kScalarB, class F>
void contiguous2(char* const* d, int64_t n, F f) {
  auto* out = reinterpret_cast<Out*>(d[0]);
  const auto* a = reinterpret_cast<const A*>(d[1]);
  const auto* b = reinterpret_cast<const B*>(d[2]);
  const auto a0 = element(a, 0);
  const auto b0 = element(b, 0);
  const auto compute = [&](int64_t i) __attribute__((always_inline)) {
    if constexpr (kScalarA)
      store(out, i, f(a0, element(b, i)));
    else if constexpr (kScalarB)
      store(out, i, f(element(a, i), b0));
    else
      store(out, i, f(element(a, i), element(b, i)));
  };
  int64_t i = 0;
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B> && sizeof(A) <= 2) {
    // A register has up to 64 of them, and GCC computes what is left of a row one by one.
    constexpr int64_t kWhole = 64 / sizeof(A), kPart = 16 / sizeof(A);
    for (; i + kWhole <= n; i += kWhole)
#pragma omp simd
      for (int64_t j = 0; j < kWhole; ++j) compute(i + j);
    for (; i + kPart <= n; i += kPart)
#pragma omp simd
      for (int64_t j = 0; j < kPart; ++j) compute(i + j);
  }
#pragma omp simd
  for (int64_t j = i; j < n; ++j) compute(j);
}

// Three operands, of which the last two may be single values: where, addcmul, lerp.
template <class Out, class A, class B, class C, bool kScalarB, bool kScalarC, class F>
void contiguous3(char* const* d, int64_t n, F f) {
  auto* out = reinterpret_cast<Out*>(d[0]);
  const auto* a = reinterpret_cast<const A*>(d[1]);
  const auto* b = reinterpret_cast<const B*>(d[2]);
  const auto* c = reinterpret_cast<const C*>(d[3]);
  const auto b0 = element(b, 0);
  const auto c0 = element(c, 0);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const compute_t<B> y = kScalarB ? b0 : element(b, i);
    const compute_t<C> z = kScalarC ? c0 : element(c, i);
    store(out, i, f(element(a, i), y, z));
  }
}

template <class Out, class... In, class F>
void contiguous(char* const* d, int64_t n, F f) {
  if constexpr (sizeof...(In) == 1)
    contiguous1<Out, In...>(d, n, f);
  else if constexpr (sizeof...(In) == 2)
    contiguous2<Out, In..., false, false>(d, n, f);
  else
    contiguous3<Out, In..., false, false>(d, n, f);
}

// Elements per tile: those of four 8-byte operands fit a 32 KiB cache.
inline constexpr int64_t kTile = 512;

// Copies n elements; strides in bytes.
template <class T>
void move_elements(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
  constexpr auto kSize = int64_t{sizeof(T)};
  copy_loops().move[size_class(kSize)](to, to_stride / kSize, from, from_stride / kSize, n);
}

// The loop over dense operands: a function, so that `loop` and `run_tiles` share its code.
template <class F, class Out, class... In>
[[gnu::noinline]] void run_dense(char* const* d, int64_t n, const void* f) {
  contiguous<Out, In...>(d, n, F(*static_cast<const F*>(f)));
}
using DenseLoop = void (*)(char* const* data, int64_t n, const void* f);

// Runs `dense` tile by tile on operands of any strides, the result first: `size` has the bytes of
// an element of each. Compiled once (tiled_loops.cpp): it moves elements, and only `dense`
// computes.
void run_tiles(char* const* d, const int64_t* s, int64_t n, const int64_t* size, int inputs,
               DenseLoop dense, const void* f);

template <class Out, class... In, class F>
void loop(char* const* d, const int64_t* s, int64_t n, F f) {
  if (n == 0) return;
  using First = std::tuple_element_t<0, std::tuple<In...>>;
  const bool dense = s[0] == int64_t{sizeof(Out)};
  const bool a = dense && s[1] == int64_t{sizeof(First)};
  if constexpr (sizeof...(In) == 1) {
    if (a) return run_dense<F, Out, In...>(d, n, &f);
  }
  if constexpr (sizeof...(In) == 2) {
    using B = std::tuple_element_t<1, std::tuple<In...>>;
    const bool b = s[2] == int64_t{sizeof(B)};
    if (a && b) return run_dense<F, Out, In...>(d, n, &f);
    if (a && s[2] == 0) return contiguous2<Out, First, B, false, true>(d, n, f);
    if (dense && b && s[1] == 0) return contiguous2<Out, First, B, true, false>(d, n, f);
  }
  if constexpr (sizeof...(In) == 3) {
    using B = std::tuple_element_t<1, std::tuple<In...>>;
    using C = std::tuple_element_t<2, std::tuple<In...>>;
    const bool b = s[2] == int64_t{sizeof(B)};
    const bool c = s[3] == int64_t{sizeof(C)};
    if (a && b && c) return run_dense<F, Out, In...>(d, n, &f);
    if (a && b && s[3] == 0) return contiguous3<Out, First, B, C, false, true>(d, n, f);
    if constexpr (sizeof(First) == 1) {  // where: either value may be a number
      if (a && s[2] == 0 && c) return contiguous3<Out, First, B, C, true, false>(d, n, f);
      if (a && s[2] == 0 && s[3] == 0) return contiguous3<Out, First, B, C, true, true>(d, n, f);
    }
  }
  constexpr int64_t kSizes[] = {sizeof(Out), sizeof(In)...};
  run_tiles(d, s, n, kSizes, sizeof...(In), run_dense<F, Out, In...>, &f);
}

}  // namespace uh::UH_ISA
