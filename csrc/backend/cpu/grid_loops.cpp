#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif

#include "backend/cpu/grid_loops.h"

#include "backend/cpu/resample/sampler.h"

namespace uh::UH_ISA {
namespace {

constexpr int64_t kBlock = 128;   // positions whose pixels are found together
constexpr int64_t kMaxTaps = 16;  // pixels of a position

// The pixels along one axis: [tap][position].
template <class T>
struct Axis {
  int64_t count;
  int32_t index[4][kBlock];  // -1: outside
  T weight[4][kBlock];
};

template <class T, int64_t kMode, int64_t kPadding, bool kAlignCorners>
void find(Axis<T>& axis, const T* grid, int64_t step, int64_t n, int64_t size) {
  constexpr int64_t kCount = kMode == kNearest ? 1 : kMode == kBicubic ? 4 : 2;
  constexpr Sampler<T> sampler{kMode, kPadding, kAlignCorners};
  axis.count = kCount;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const auto along = sampler.along(grid[i * step], size);
#pragma GCC unroll 4
    for (int64_t k = 0; k < kCount; ++k) {
      axis.index[k][i] = static_cast<int32_t>(along.index[k]);
      axis.weight[k][i] = along.weight[k];
    }
  }
}

template <class T>
using Find = void (*)(Axis<T>&, const T*, int64_t, int64_t, int64_t);

template <class T, int64_t kMode>
Find<T> find_of_mode(const GridSamples<T>& s) {
  if (s.padding == kZeros) {
    return s.align_corners ? find<T, kMode, kZeros, true> : find<T, kMode, kZeros, false>;
  }
  if (s.padding == kBorder) {
    return s.align_corners ? find<T, kMode, kBorder, true> : find<T, kMode, kBorder, false>;
  }
  return s.align_corners ? find<T, kMode, kReflection, true> : find<T, kMode, kReflection, false>;
}
template <class T>
Find<T> find_of(const GridSamples<T>& s) {
  return s.mode == kNearest   ? find_of_mode<T, kNearest>(s)
         : s.mode == kBicubic ? find_of_mode<T, kBicubic>(s)
                              : find_of_mode<T, kBilinear>(s);
}

// The pixels of a position in a plane: [tap][position].
template <class T>
struct Pixels {
  int64_t count;
  int32_t offset[kMaxTaps][kBlock];  // -1: outside
  T weight[kMaxTaps][kBlock];
  T outside[kBlock];  // 0; NaN where the weight of a pixel outside is not finite, as in PyTorch
};

template <class T>
void join(Pixels<T>& pixels, const Axis<T>& x, const Axis<T>& y, const Axis<T>* z, int64_t n,
          const int64_t (&size)[3]) {
  const auto width = static_cast<int32_t>(size[2]), height = static_cast<int32_t>(size[1]);
  for (int64_t i = 0; i < n; ++i) pixels.outside[i] = 0;
  int64_t tap = 0;
  for (int64_t c = 0; c < (z ? z->count : 1); ++c) {
    for (int64_t b = 0; b < y.count; ++b) {
      for (int64_t a = 0; a < x.count; ++a, ++tap) {
        int32_t* const offset = pixels.offset[tap];
        T* const weight = pixels.weight[tap];
        const int32_t *across = x.index[a], *down = y.index[b];
        const T *u = x.weight[a], *v = y.weight[b];
        if (z) {
          const int32_t* const deep = z->index[c];
          const T* const w = z->weight[c];
#pragma omp simd
          for (int64_t i = 0; i < n; ++i) {
            const bool inside = (across[i] | down[i] | deep[i]) >= 0;
            offset[i] = inside ? (deep[i] * height + down[i]) * width + across[i] : -1;
            weight[i] = u[i] * v[i] * w[i];
          }
          continue;
        }
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
          const bool inside = (across[i] | down[i]) >= 0;
          offset[i] = inside ? down[i] * width + across[i] : -1;
          weight[i] = u[i] * v[i];
          pixels.outside[i] += inside ? T(0) : 0 * weight[i];
        }
      }
    }
  }
  pixels.count = tap;
}

template <class T, int64_t kTaps>
void sum(T* __restrict out, const T* __restrict in, const Pixels<T>& pixels, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    T sum = pixels.outside[i];
#pragma GCC unroll 8
    for (int64_t k = 0; k < kTaps; ++k) {
      const int32_t at = pixels.offset[k][i];
      const T value = in[at < 0 ? 0 : at];
      sum += at < 0 ? T(0) : value * pixels.weight[k][i];
    }
    out[i] = sum;
  }
}
// The same for any number of pixels.
template <class T>
void sum_any(T* out, const T* in, const Pixels<T>& pixels, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = pixels.outside[i];
  for (int64_t k = 0; k < pixels.count; ++k) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const int32_t at = pixels.offset[k][i];
      const T value = in[at < 0 ? 0 : at];
      out[i] += at < 0 ? T(0) : value * pixels.weight[k][i];
    }
  }
}

template <class T>
void sample(const GridSamples<T>& s, int64_t from, int64_t to) {
  const Find<T> find_pixels = find_of(s);
  const int64_t plane = s.size[0] * s.size[1] * s.size[2];
  Axis<T> axes[3];
  Pixels<T> pixels;
  for (int64_t first = from; first < to; first += kBlock) {
    const int64_t n = to - first < kBlock ? to - first : kBlock;
    for (int64_t d = 0; d < s.dims; ++d)
      find_pixels(axes[d], s.grid + first * s.dims + d, s.dims, n, s.size[2 - d]);
    join(pixels, axes[0], axes[1], s.dims == 3 ? &axes[2] : nullptr, n, s.size);
    const auto sum_pixels = pixels.count == 1   ? sum<T, 1>
                            : pixels.count == 4 ? sum<T, 4>
                            : pixels.count == 8 ? sum<T, 8>
                                                : sum_any<T>;
    for (int64_t c = 0; c < s.channels; ++c)
      sum_pixels(s.out + c * s.positions + first, s.in + c * plane, pixels, n);
  }
}

}  // namespace

const FloatGridLoops& float_grid_loops() {
  static constexpr FloatGridLoops loops{sample<float>};
  return loops;
}
const DoubleGridLoops& double_grid_loops() {
  static constexpr DoubleGridLoops loops{sample<double>};
  return loops;
}

}  // namespace uh::UH_ISA
