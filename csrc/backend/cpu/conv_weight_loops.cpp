#include "backend/cpu/conv_weight_loops.h"

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

  // Loads the last n elements of a run, followed by zeros.
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

  // Adds halves until the vector is as short as the shortest register.
  template <int kSize>
  static T total(const T* x) {
    typedef T Part __attribute__((vector_size(kSize), aligned(alignof(T)), may_alias));
    if constexpr (kSize > 16) {
      T sum[kSize / sizeof(T)];
      typedef T Half __attribute__((vector_size(kSize / 2), aligned(alignof(T)), may_alias));
      const auto* half = reinterpret_cast<const Half*>(x);
      *reinterpret_cast<Half*>(sum) = half[0] + half[1];
      return total<kSize / 2>(sum);
    } else {
      const Part v = *reinterpret_cast<const Part*>(x);
      T sum = v[0];
      for (int i = 1; i < static_cast<int>(kSize / sizeof(T)); ++i) sum += v[i];
      return sum;
    }
  }

  static void run(T* sum, int64_t sum_row, const typename ConvWeightLoops<T>::Source& from) {
    Vector sums[kRows][kTaps] = {};
    const int64_t vectorised = from.length / kLanes * kLanes, remainder = from.length - vectorised;
    for (int64_t i = 0; i < from.images; ++i) {
      const T *row[kRows], *tap[kTaps];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) row[r] = from.row + r * from.row_step + i * from.row_image;
#pragma GCC unroll 8
      for (int k = 0; k < kTaps; ++k) tap[k] = from.input + from.offset[k] + i * from.input_image;
      for (int64_t at = 0; at < vectorised; at += kLanes)
        step(sums, row, tap, at,
             [](const T* x) -> Vector { return *reinterpret_cast<const Loose*>(x); });
      if (remainder > 0)
        step(sums, row, tap, vectorised, [&](const T* x) -> Vector { return part(x, remainder); });
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int k = 0; k < kTaps; ++k) {
        T lane_sums[kLanes];
        __builtin_memcpy(lane_sums, &sums[r][k], sizeof lane_sums);
        sum[r * sum_row + k] += total<kBytes>(lane_sums);
      }
    }
  }
};

template <class T, int kVectors, int kTaps>
struct ByPixel {
  typedef T Vector __attribute__((vector_size(kBytes)));
  typedef T Loose __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
  static constexpr int64_t kLanes = kBytes / sizeof(T);

  static void run(T* sum, int64_t sum_tap, const typename ConvWeightLoops<T>::Pixels& from) {
    Vector sums[kTaps][kVectors] = {};
    const T* row = from.row;
    int64_t offset[kTaps];
    for (int k = 0; k < kTaps; ++k) offset[k] = from.offset[k];
    const int64_t width = from.count[3], step = from.input_step[3];
    for (int64_t n = 0; n < from.count[0]; ++n) {
      for (int64_t z = 0; z < from.count[1]; ++z) {
        for (int64_t y = 0; y < from.count[2]; ++y) {
          const T* x =
              from.input + n * from.input_step[0] + z * from.input_step[1] + y * from.input_step[2];
          for (int64_t i = 0; i < width; ++i, x += step, row += from.row_step) {
            Vector g[kVectors];
#pragma GCC unroll 2
            for (int v = 0; v < kVectors; ++v)
              g[v] = *reinterpret_cast<const Loose*>(row + v * kLanes);
#pragma GCC unroll 12
            for (int k = 0; k < kTaps; ++k) {
              const Vector in = x[offset[k]] - Vector{};
#pragma GCC unroll 2
              for (int v = 0; v < kVectors; ++v) sums[k][v] += g[v] * in;
            }
          }
        }
      }
    }
#pragma GCC unroll 12
    for (int k = 0; k < kTaps; ++k) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        auto* at = reinterpret_cast<Loose*>(sum + k * sum_tap + v * kLanes);
        *at = Vector(*at) + sums[k][v];
      }
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
  loops.lanes = kBytes / static_cast<int64_t>(sizeof(T));
  loops.max_taps = kBytes == 64 ? 12 : 6;
  const auto pixels = [&]<int kVectors>() {
    auto& by = loops.by_pixel[kVectors - 1];
    by[0] = ByPixel<T, kVectors, 1>::run;
    by[1] = ByPixel<T, kVectors, 2>::run;
    by[2] = ByPixel<T, kVectors, 4>::run;
    by[3] = ByPixel<T, kVectors, 6>::run;
    if constexpr (kBytes == 64) by[4] = ByPixel<T, kVectors, 12>::run;
  };
  pixels.template operator()<1>();
  pixels.template operator()<2>();
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
