// The inner loop of transposed convolutions with more output than input pixels: a tile of taps x
// pixels, for a vector of output channels, added at each pixel's position plus each tap's offset.
//
// All channels of an input pixel are summed in registers before the result is added, so there are
// few additions to memory. Outputs are stored pixel by pixel, with adjacent channels.
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
    const T* weight;  // tap k of channel c: a vector at weight[c * weight_channel + k * weight_tap]
    const int64_t* position;  // of each pixel, in elements of the output
    const int64_t* offset;    // of each tap, from its pixel's position
    int64_t input_channel, weight_channel, weight_tap, channels;
  };
  // out[position[j] + offset[k]] += sum over channels of input times weight, one vector each
  using Tile = void (*)(T* out, const Source& from);

  int64_t lanes;
  int64_t pixels[kPixelKinds];  // per tile kind, ascending
  Tile tile[kMaxTaps][kPixelKinds];
};

using FloatConvScatterLoops = ConvScatterLoops<float>;
using DoubleConvScatterLoops = ConvScatterLoops<double>;

UH_PER_ISA(FloatConvScatterLoops, float_conv_scatter_loops)
UH_PER_ISA(DoubleConvScatterLoops, double_conv_scatter_loops)

}  // namespace uh
