// Sampling an image at positions of a grid: the pixels and weights of a block of positions, which
// all channels share, then the weighted sums.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"

namespace uh {

// An image of `channels` planes and the results at `positions`.
template <class T>
struct GridSamples {
  const T* grid;  // `dims` coordinates per position: x, y, (z)
  const T* in;
  T* out;  // a plane of results per channel
  int64_t dims, channels, positions;
  int64_t size[3];  // depth, height, width
  int64_t mode, padding;
  bool align_corners;
};

template <class T>
struct GridLoops {
  void (*sample)(const GridSamples<T>& samples, int64_t from, int64_t to);  // positions
};

using FloatGridLoops = GridLoops<float>;
using DoubleGridLoops = GridLoops<double>;

UH_PER_ISA(FloatGridLoops, float_grid_loops)
UH_PER_ISA(DoubleGridLoops, double_grid_loops)

}  // namespace uh
