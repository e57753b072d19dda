#include "backend/cpu/pool_loops.h"

#include <cstdint>
#include <type_traits>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace uh::UH_ISA {
namespace {

// NaN is larger than everything; of several in a window the last one wins.
template <class T>
inline bool is_larger(T x, T best) {
  return (x > best) | (x != x);
}
template <class T>
inline T larger(T best, T x) {
  return is_larger(x, best) ? x : best;
}

template <class T>
void max_row(T* __restrict best, const T* __restrict in, int64_t n) {
  for (int64_t x = 0; x < n; ++x) best[x] = larger(best[x], in[x]);
}

// With constant steps the compiler uses loads and shuffles instead of gathers.
template <class F>
inline void by_step(int64_t step, const F& f) {
  if (step == 1) return f(std::integral_constant<int64_t, 1>());
  if (step == 2) return f(std::integral_constant<int64_t, 2>());
  f(step);
}

template <class T>
void max_step(T* __restrict best, const T* __restrict in, int64_t step, int64_t n) {
  by_step(step, [&](auto s) {
    for (int64_t x = 0; x < n; ++x) best[x] = larger(best[x], in[x * s]);
  });
}

template <class T>
void max_index(T* __restrict best, int64_t* __restrict index, const T* __restrict in, int64_t step,
               int64_t n, int64_t base) {
  by_step(step, [&](auto s) {
    for (int64_t x = 0; x < n; ++x) {
      const T value = in[x * s];
      const bool take = (value > best[x]) | (value != value);
      best[x] = take ? value : best[x];
      index[x] = take ? base + x * s : index[x];
    }
  });
}

#ifdef __AVX512F__

// Sixteen windows at a time if they are one or two elements apart: otherwise every second
// comparison is an unpredictable branch. Loads and stores are masked, so that short rows need no
// special case and nothing outside the windows is read.
template <int kStep>
void max_windows(float* best, int64_t* index, const float* in, const int64_t* offset, int64_t taps,
                 int64_t n, int64_t base) {
  const __m512i count = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i even = _mm512_add_epi32(count, count);
  for (int64_t x = 0; x < n; x += 16) {
    const int64_t windows = n - x < 16 ? n - x : 16;
    const auto some = static_cast<__mmask16>((1u << windows) - 1);
    const uint64_t read = (uint64_t{1} << (kStep * (windows - 1) + 1)) - 1;
    __m512 value = _mm512_setzero_ps();
    __m512i at = _mm512_setzero_si512();
    for (int64_t k = 0; k < taps; ++k) {
      const float* from = in + x * kStep + offset[k];
      __m512 other = _mm512_maskz_loadu_ps(static_cast<__mmask16>(read), from);
      if constexpr (kStep == 2) {
        const auto upper = static_cast<__mmask16>(read >> 16);
        other = _mm512_permutex2var_ps(other, even, _mm512_maskz_loadu_ps(upper, from + 16));
      }
      const __mmask16 larger = _mm512_cmp_ps_mask(other, value, _CMP_GT_OQ);
      const __mmask16 nan = _mm512_cmp_ps_mask(other, other, _CMP_UNORD_Q);
      const auto take = k == 0 ? some : static_cast<__mmask16>(larger | nan);
      value = _mm512_mask_mov_ps(value, take, other);
      at = _mm512_mask_mov_epi32(at, take, _mm512_set1_epi32(static_cast<int32_t>(offset[k])));
    }
    at = _mm512_add_epi32(at, kStep == 2 ? even : count);
    _mm512_mask_storeu_ps(best + x, some, value);
    alignas(64) int32_t offsets[16];
    _mm512_store_si512(offsets, at);
    const int64_t start = base + x * kStep;
    for (int64_t i = 0; i < windows; ++i) index[x + i] = start + offsets[i];
  }
}

#endif

template <class T>
void max_window(T* __restrict best, int64_t* __restrict index, const T* __restrict in,
                const int64_t* __restrict offset, int64_t taps, int64_t step, int64_t n,
                int64_t base) {
#ifdef __AVX512F__
  if constexpr (std::is_same_v<T, float>) {
    const bool near = offset[taps - 1] < INT32_MAX - 32;
    if (near && step == 1) return max_windows<1>(best, index, in, offset, taps, n, base);
    if (near && step == 2) return max_windows<2>(best, index, in, offset, taps, n, base);
  }
#endif
  const auto run = [&](auto count) {
    for (int64_t x = 0; x < n; ++x, in += step, base += step) {
      T value = in[offset[0]];
      int64_t at = offset[0];
      for (int64_t k = 1; k < count; ++k) {
        const T other = in[offset[k]];
        const bool take = is_larger(other, value);
        value = take ? other : value;
        at = take ? offset[k] : at;
      }
      best[x] = value;
      index[x] = base + at;
    }
  };
  if (taps == 4) return run(std::integral_constant<int64_t, 4>());
  if (taps == 9) return run(std::integral_constant<int64_t, 9>());
  run(taps);
}

template <class T>
void add_step(T* __restrict sum, const T* __restrict in, int64_t step, int64_t n) {
  by_step(step, [&](auto s) {
    for (int64_t x = 0; x < n; ++x) sum[x] += in[x * s];
  });
}
void add_int(int64_t* sum, const int64_t* in, int64_t step, int64_t n) {
  for (int64_t x = 0; x < n; ++x)
    sum[x] =
        static_cast<int64_t>(static_cast<uint64_t>(sum[x]) + static_cast<uint64_t>(in[x * step]));
}

}  // namespace

const AllPoolLoops& pool_loops() {
  static const AllPoolLoops loops{
      {max_row<float>, max_step<float>, max_index<float>, max_window<float>, add_step<float>},
      {max_row<double>, max_step<double>, max_index<double>, max_window<double>, add_step<double>},
      {max_row<int64_t>, max_step<int64_t>, max_index<int64_t>, max_window<int64_t>, add_int}};
  return loops;
}

}  // namespace uh::UH_ISA
