#include "ops/kernel/conv_weight_loops.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace uh::UH_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64, kRowKindsHere = 3;  // 4 x 6 sums, 4 rows and a tap: 29 of 32 registers
#elif defined(__AVX2__)
constexpr int kBytes = 32, kRowKindsHere = 2;  // 2 x 6 sums, 2 rows and a tap: 15 of 16
#else
constexpr int kBytes = 16, kRowKindsHere = 2;
#endif

template <class T, int kRows, int kTaps>
struct Tile {
  typedef T Vector __attribute__((vector_size(kBytes)));
  typedef T Loose __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
  static constexpr int64_t kLanes = kBytes / sizeof(T);

  // The last n elements of a run, zeros after them.
  static Vector part(const T* x, int64_t n) {
#ifdef __AVX512F__
    if constexpr (sizeof(T) == 4)
      return (Vector)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), x);
    else
      return (Vector)_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1), x);
#else
    Vector v{};
    for (int64_t i = 0; i < n; ++i) v[i] = x[i];
    return v;
#endif
  }

  template <class Load>
  static void step(Vector (&sum)[kRows][kTaps], const T* const (&row)[kRows],
                   const T* const (&tap)[kTaps], int64_t at, const Load& load) {
    Vector a[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) a[r] = load(row[r] + at);
#pragma GCC unroll 8
    for (int k = 0; k < kTaps; ++k) {
      const Vector b = load(tap[k] + at);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sum[r][k] += a[r] * b;
    }
  }

  static T total(Vector v) {
    T half[kLanes];
    __builtin_memcpy(half, &v, sizeof half);
    for (int64_t n = kLanes / 2; n > 0; n /= 2)
      for (int64_t i = 0; i < n; ++i) half[i] += half[i + n];
    return half[0];
  }

  static void run(T* sum, int64_t sum_row, const typename ConvWeightLoops<T>::Source& from) {
    Vector sums[kRows][kTaps] = {};
    const int64_t whole = from.length / kLanes * kLanes, rest = from.length - whole;
    for (int64_t i = 0; i < from.images; ++i) {
      const T *row[kRows], *tap[kTaps];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) row[r] = from.row + r * from.row_step + i * from.row_image;
#pragma GCC unroll 8
      for (int k = 0; k < kTaps; ++k) tap[k] = from.input + from.offset[k] + i * from.input_image;
      for (int64_t at = 0; at < whole; at += kLanes)
        step(sums, row, tap, at,
             [](const T* x) -> Vector { return *reinterpret_cast<const Loose*>(x); });
      if (rest > 0)
        step(sums, row, tap, whole, [&](const T* x) -> Vector { return part(x, rest); });
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int k = 0; k < kTaps; ++k) sum[r * sum_row + k] += total(sums[r][k]);
    }
  }
};

template <class T>
ConvWeightLoops<T> make() {
  ConvWeightLoops<T> loops{};
  loops.row_kinds = kRowKindsHere;
  const auto fill = [&]<int kKind>() {
    constexpr int kRows = 1 << kKind;
    loops.tile[kKind][0] = Tile<T, kRows, 1>::run;
    loops.tile[kKind][1] = Tile<T, kRows, 2>::run;
    loops.tile[kKind][2] = Tile<T, kRows, 3>::run;
    loops.tile[kKind][3] = Tile<T, kRows, 6>::run;
  };
  fill.template operator()<0>();
  fill.template operator()<1>();
  if constexpr (kRowKindsHere == 3) fill.template operator()<2>();
  return loops;
}

}  // namespace

const FloatConvWeightLoops& float_conv_weight_loops() {
  static const FloatConvWeightLoops loops = make<float>();
  return loops;
}
const DoubleConvWeightLoops& double_conv_weight_loops() {
  static const DoubleConvWeightLoops loops = make<double>();
  return loops;
}

}  // namespace uh::UH_ISA
