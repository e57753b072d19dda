#include "backend/cpu/conv_loops.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace uh::UH_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64, kRowKindsHere = 4;
#elif defined(__AVX2__)
constexpr int kBytes = 32, kRowKindsHere = 3;
#else
constexpr int kBytes = 16, kRowKindsHere = 3;
#endif

// Vectors of pixels in a tile of `rows` channels: the sums, one vector of inputs and a weight fill
// the registers (32 with AVX-512, else 16).
constexpr int64_t max_vectors(int rows) {
  if (kBytes == 64) return rows == 8 ? 3 : 6;
  return rows == 1 ? 6 : 3;
}

// Taps summed in registers before they join the total: a long sum's error grows with the chunk
// length and the number of chunks, not with the number of taps.
constexpr int64_t kChunk = 64;

template <class T, int kRows, int kVectors>
struct Tile {
  typedef T Vector __attribute__((vector_size(kBytes)));
  typedef T Loose __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
  static constexpr int64_t kLanes = kBytes / sizeof(T);

  // x - 0 is x, even for x = -0, so it costs nothing; 0 + x would need an addition.
  static Vector all(T x) { return x - Vector{}; }

  static void sum(Vector (&sum)[kRows][kVectors], const T* weight, const T* input,
                  const int64_t* offset, int64_t taps) {
    for (int64_t k = 0; k < taps; ++k, weight += kRows) {
      const T* x = input + offset[k];
      Vector in[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) in[v] = *reinterpret_cast<const Loose*>(x + v * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const Vector w = all(weight[r]);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sum[r][v] += in[v] * w;
      }
    }
  }

  static void run(T* out, int64_t out_row, const T* weight, const T* input, const int64_t* offset,
                  int64_t taps, const T* start) {
    const int64_t chunks = (taps + kChunk - 1) / kChunk;
    int64_t from = 0;
    for (int64_t c = 0; c < chunks; ++c) {
      const int64_t to = taps * (c + 1) / chunks;
      Vector part[kRows][kVectors];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) part[r][v] = Vector{};
      }
      sum(part, weight + from * kRows, input, offset + from, to - from);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          auto* at = reinterpret_cast<Loose*>(out + r * out_row + v * kLanes);
          *at = part[r][v] + (c == 0 && start ? all(start[r]) : Vector(*at));
        }
      }
      from = to;
    }
  }
};

// Runs are short (at most an image row): masks avoid a scalar remainder loop.
inline void move(float* to, const float* from, int64_t n) {
#ifdef __AVX512F__
  for (; n >= 16; n -= 16, to += 16, from += 16) _mm512_storeu_ps(to, _mm512_loadu_ps(from));
  if (n > 0) {
    const auto mask = static_cast<__mmask16>((1u << n) - 1);
    _mm512_mask_storeu_ps(to, mask, _mm512_maskz_loadu_ps(mask, from));
  }
#else
  for (int64_t j = 0; j < n; ++j) to[j] = from[j];
#endif
}
template <class T>
inline void move(T* to, const T* from, int64_t n) {
  for (int64_t j = 0; j < n; ++j) to[j] = from[j];
}

template <class T>
void pack(T* panel, int64_t width, const T* input, const int64_t* offset, int64_t taps,
          const ConvRun* runs, int64_t n) {
  const int64_t used = runs[n - 1].at + runs[n - 1].length;
  for (int64_t k = 0; k < taps; ++k, panel += width) {
    const T* x = input + offset[k];
    for (int64_t i = 0; i < n; ++i) move(panel + runs[i].at, x + runs[i].input, runs[i].length);
    for (int64_t j = used; j < width; ++j) panel[j] = 0;
  }
}

template <class T>
void store(T* out, int64_t out_row, int64_t step, const T* tile, int64_t tile_row, int64_t rows,
           const ConvRun* runs, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, out += out_row, tile += tile_row) {
    for (int64_t i = 0; i < n; ++i) {
      const T* from = tile + runs[i].at;
      T* to = out + runs[i].output;
      if (step == 1) {
        move(to, from, runs[i].length);
      } else {
        for (int64_t j = 0; j < runs[i].length; ++j) to[j * step] = from[j];
      }
    }
  }
}

template <class T>
ConvLoops<T> make() {
  ConvLoops<T> loops{};
  loops.lanes = kBytes / sizeof(T);
  loops.row_kinds = kRowKindsHere;
  const auto fill = [&]<int kKind>() {
    constexpr int kRows = 1 << kKind;
    loops.max_vectors[kKind] = max_vectors(kRows);
    auto& row = loops.tile[kKind];
    row[0] = Tile<T, kRows, 1>::run;
    row[1] = Tile<T, kRows, 2>::run;
    row[2] = Tile<T, kRows, 3>::run;
    if constexpr (max_vectors(kRows) == 6) row[3] = Tile<T, kRows, 6>::run;
  };
  fill.template operator()<0>();
  fill.template operator()<1>();
  fill.template operator()<2>();
  if constexpr (kRowKindsHere == 4) fill.template operator()<3>();
  loops.pack = pack<T>;
  loops.store = store<T>;
  return loops;
}

}  // namespace

const FloatConvLoops& float_conv_loops() {
  static const FloatConvLoops loops = make<float>();
  return loops;
}
const DoubleConvLoops& double_conv_loops() {
  static const DoubleConvLoops loops = make<double>();
  return loops;
}
const IntConvLoops& int_conv_loops() {
  static const IntConvLoops loops = make<uint64_t>();
  return loops;
}

}  // namespace uh::UH_ISA
