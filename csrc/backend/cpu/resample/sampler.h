// The pixels that a coordinate in [-1, 1] reads along one axis, with their weights and the
// derivatives of the weights. Loops compiled per instruction set have a Sampler each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backend/cpu/isa.h"
#include "ops/resample/mode.h"

namespace uh::UH_ISA {

template <class T>
struct Sampler {
  int64_t mode, padding;
  bool align_corners;

  // Maps coordinates in [-1, 1] to pixels: -1 and 1 are the centres, or the outer edges, of the
  // corner pixels.
  T pixel(T x, int64_t size) const {
    const T n = static_cast<T>(size);
    return align_corners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
  }

  T pixel_slope(int64_t size) const { return static_cast<T>(align_corners ? size - 1 : size) / 2; }

  static T clipped(T x, int64_t size) {
    return std::min(static_cast<T>(size - 1), std::max(x, T(0)));
  }

  // Reflects x between the centres, or the edges, of the outer pixels.
  T reflected(T x, int64_t size) const {
    const T low = align_corners ? T(0) : T(-0.5);
    const T span = align_corners ? static_cast<T>(size - 1) : static_cast<T>(size);
    if (span == 0) return 0;
    const T away = std::abs(x - low);
    const T remainder = std::fmod(away, span);
    const bool even = std::fmod(std::floor(away / span), T(2)) == 0;
    return even ? remainder + low : span - remainder + low;
  }

  // The derivative of `inside` by x: 0 where it is clamped, -1 where it is reflected.
  T inside_slope(T x, int64_t size) const {
    if (padding == kZeros) return 1;
    T slope = 1;
    if (padding == kReflection) {
      const T low = align_corners ? T(0) : T(-0.5);
      const T span = align_corners ? static_cast<T>(size - 1) : static_cast<T>(size);
      if (span == 0) return 0;
      const bool even = std::fmod(std::floor(std::abs(x - low) / span), T(2)) == 0;
      slope = (x < low) == even ? T(-1) : T(1);
      x = reflected(x, size);
    }
    return x <= 0 || x >= static_cast<T>(size - 1) ? T(0) : slope;
  }

  T inside(T x, int64_t size) const {
    if (padding == kBorder) return clipped(x, size);
    if (padding == kReflection) return clipped(reflected(x, size), size);
    return x;
  }

  // Returns a pixel's index along one axis, or -1 if it is outside or NaN.
  static int64_t index(T x, int64_t size) {
    return x >= 0 && x <= static_cast<T>(size - 1) ? static_cast<int64_t>(x) : -1;
  }

  struct Along {
    int64_t index[4];
    T weight[4];
    T slope[4];  // of the weight by the coordinate
    int64_t count;
  };

  [[gnu::always_inline]] inline Along along(T coordinate, int64_t size) const {
    Along a;
    const T x = pixel(coordinate, size);
    if (mode == kBicubic) {
      const T first = std::floor(x), t = x - first;
      a.count = 4;
      for (int k = 0; k < 4; ++k) {
        a.index[k] = index(inside(first + static_cast<T>(k - 1), size), size);
        const T away = t - static_cast<T>(k - 1);
        a.weight[k] = cubic(std::abs(away));
        a.slope[k] = (away < 0 ? -1 : 1) * cubic_slope(std::abs(away)) * pixel_slope(size);
      }
      return a;
    }
    const T at = inside(x, size);
    if (mode == kNearest) {
      a.count = 1;
      a.index[0] = index(std::nearbyint(at), size);
      a.weight[0] = 1;
      a.slope[0] = 0;
      return a;
    }
    const T first = std::floor(at);
    a.count = 2;
    a.index[0] = index(first, size);
    a.index[1] = index(first + 1, size);
    a.weight[0] = first + 1 - at;
    a.weight[1] = at - first;
    a.slope[1] = inside_slope(x, size) * pixel_slope(size);
    a.slope[0] = -a.slope[1];
    return a;
  }

  static T cubic(T x) {
    constexpr T a = T(-0.75);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
    return x >= 2 ? T(0) : x;  // NaN
  }
  static T cubic_slope(T x) {
    constexpr T a = T(-0.75);
    if (x <= 1) return (3 * (a + 2) * x - 2 * (a + 3)) * x;
    if (x < 2) return ((3 * x - 10) * x + 8) * a;
    return 0;
  }
};

}  // namespace uh::UH_ISA
