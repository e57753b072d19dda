// The inner loop of a convolution's weight gradient: a tile of rows x taps, all pixels summed in
// registers.
//
// What: a row is the gradient of one output channel, a tap a place in a buffer of inputs; every
// weight is the sum of products of a row with the run of pixels at its tap. Pixels lie side by side
// in both, so the loop runs along them and every vector that is loaded meets several others.
// Read next: convolution/weight_gradient.cpp.
#pragma once

#include <cstdint>

#include "ops/kernel/per_isa.h"

namespace uh {

template <class T>
struct ConvWeightLoops {
  static constexpr int kRowKinds = 3, kTapKinds = 4;
  static constexpr int64_t kRows[kRowKinds] = {1, 2, 4};
  static constexpr int64_t kTaps[kTapKinds] = {1, 2, 3, 6};

  // Where a tile reads: row r of image i begins at row + r * row_step + i * row_image, tap k at
  // input + offset[k] + i * input_image; each is `length` pixels long.
  struct Source {
    const T *row, *input;
    const int64_t* offset;
    int64_t row_step, row_image, input_image, length, images;
  };
  // sum[r * sum_row + k] += sum of row r times tap k
  using Tile = void (*)(T* sum, int64_t sum_row, const Source& from);

  int row_kinds;  // how many fit the registers
  Tile tile[kRowKinds][kTapKinds];
};

using FloatConvWeightLoops = ConvWeightLoops<float>;
using DoubleConvWeightLoops = ConvWeightLoops<double>;

UH_PER_ISA(FloatConvWeightLoops, float_conv_weight_loops)
UH_PER_ISA(DoubleConvWeightLoops, double_conv_weight_loops)

}  // namespace uh
