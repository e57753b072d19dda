// The inner loop of transposed convolutions that give more pixels than they take: a tile of taps x
// pixels, for a vector of output channels, added to where each tap leads from each pixel.
//
// What: all channels of an input pixel are summed in registers before the result is added, so the
// additions are few. Outputs lie pixel by pixel, their channels side by side.
// Read next: convolution/scatter.cpp.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"

namespace uh {

template <class T>
struct ConvScatterLoops {
  static constexpr int kPixelKinds = 4, kMaxTaps = 2;

  struct Source {
    const T* input;  // pixel j of channel c: input[c * input_channel + j]
    const T*
        weight;  // a vector for tap k of channel c: weight[c * weight_channel + k * weight_tap]
    const int64_t* position;  // of every pixel, in elements of the output
    const int64_t* offset;    // of every tap, from there
    int64_t input_channel, weight_channel, weight_tap, channels;
  };
  // out[position[j] + offset[k]] += sum over channels of input times weight, a vector each
  using Tile = void (*)(T* out, const Source& from);

  int64_t lanes;
  int64_t pixels[kPixelKinds];  // of each kind of tile, fewest first
  Tile tile[kMaxTaps][kPixelKinds];
};

using FloatConvScatterLoops = ConvScatterLoops<float>;
using DoubleConvScatterLoops = ConvScatterLoops<double>;

UH_PER_ISA(FloatConvScatterLoops, float_conv_scatter_loops)
UH_PER_ISA(DoubleConvScatterLoops, double_conv_scatter_loops)

}  // namespace uh
