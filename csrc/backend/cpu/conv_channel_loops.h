// The inner loops of depthwise convolutions: a vector holds a pixel's channels, so that no lane is
// wasted in narrow images and a stride costs nothing.
//
// `pack` and `unpack` transpose between planes of channels and pixels of vectors. In a buffer of
// such pixels, a tap is an offset from a pixel's position, both in elements.
// Invariant: the order in which the taps of a result are added depends only on their number.
// Read next: convolution/depthwise.cpp.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"

namespace uh {

template <class T>
struct ConvChannelLoops {
  int64_t lanes;  // channels of a vector; loops for fewer `channels` set or ignore the others

  // to[place[p] + c] = from[c * plane + p], and 0 for missing channels
  void (*pack)(T* to, const int64_t* place, const T* from, int64_t plane, int64_t channels,
               int64_t pixels);
  // to[c * plane + p] = from[p * lanes + c]
  void (*unpack)(T* to, int64_t plane, const T* from, int64_t channels, int64_t pixels);

  // The taps of some pixels.
  struct Source {
    const T* input;
    const int64_t* position;  // of each pixel
    const int64_t* offset;    // of each tap
    int64_t pixels, taps;
  };
  // out[place[p]] = start + sum_k weight[k * lanes] * input[position[p] + offset[k]], all vectors
  void (*sum)(T* out, const int64_t* place, const T* weight, const T* start, const Source& from);
  // sums[k * lanes] += sum_p rows[p * lanes] * input[position[p] + offset[k]], all vectors
  void (*sum_products)(T* sums, const T* rows, const Source& from);
};

using FloatConvChannelLoops = ConvChannelLoops<float>;
using DoubleConvChannelLoops = ConvChannelLoops<double>;

UH_PER_ISA(FloatConvChannelLoops, float_conv_channel_loops)
UH_PER_ISA(DoubleConvChannelLoops, double_conv_channel_loops)

}  // namespace uh
