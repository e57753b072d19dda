// The inner loops of convolutions in which a vector holds a pixel's output channels, so that no
// lane is wasted in narrow images and a stride costs nothing.
//
// `pack` and `unpack` transpose between planes of channels and pixels of vectors. In a buffer of
// such pixels, a tap is an offset from a pixel's position, both in elements.
// Invariant: the order in which the taps of a result are added depends only on their number.
// Read next: convolution/by_channels.cpp.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"

namespace uh {

template <class T>
struct ConvChannelLoops {
  int64_t lanes;  // channels of a vector; loops for fewer `channels` set or ignore the others

  // to[target[p] + c] = from[c * plane + p], and 0 for missing channels
  void (*pack)(T* to, const int64_t* target, const T* from, int64_t plane, int64_t channels,
               int64_t pixels);
  // to[c * plane + p] = from[p * lanes + c]
  void (*unpack)(T* to, int64_t plane, const T* from, int64_t channels, int64_t pixels);

  // The taps of some pixels.
  struct Source {
    const T* input;
    const int64_t* position;  // of each pixel
    const int64_t* offset;    // of each tap
    int64_t pixels, taps;
    int64_t row = 1, run = 1;  // pixels come in adjacent rows, taps in adjacent runs, that long
  };
  // out[target[p]] = start + sum_k weight[k * lanes] * input[position[p] + offset[k]], all vectors
  void (*sum)(T* out, const int64_t* target, const T* weight, const T* start, const Source& from);
  // The same with a number for each input and tap, which multiplies 1 or 2 vectors of weights:
  // out[target[p] + v * out_vector] = start[v] + sum_k weight[k][v] * input[position[p] +
  // offset[k]]
  void (*sum_numbers[2])(T* out, const int64_t* target, int64_t out_vector, const T* weight,
                         const T* start, const Source& from);
  // sums[k * lanes] += sum_p rows[p * lanes] * input[position[p] + offset[k]], all vectors
  void (*sum_products)(T* sums, const T* rows, const Source& from);
};

using FloatConvChannelLoops = ConvChannelLoops<float>;
using DoubleConvChannelLoops = ConvChannelLoops<double>;

UH_PER_ISA(FloatConvChannelLoops, float_conv_channel_loops)
UH_PER_ISA(DoubleConvChannelLoops, double_conv_channel_loops)

}  // namespace uh
