// The inner loop of a convolution's weight gradient: a tile of rows x taps, all pixels summed in
// registers.
//
// What: a row is the gradient of one output channel, a tap a place in a buffer of inputs; every
// weight is the sum of products of a row with the run of pixels at its tap. Pixels are adjacent
// in both, so the loop runs along them and every vector that is loaded meets several others.
// Read next: convolution/weight_gradient.cpp.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"

namespace uh {

template <class T>
struct ConvWeightLoops {
  static constexpr int kRowKinds = 3, kTapKinds = 4;
  static constexpr int64_t kRows[kRowKinds] = {1, 2, 4};
  static constexpr int64_t kTaps[kTapKinds] = {1, 2, 3, 6};

  // The source of a tile: row r of image i begins at row + r * row_step + i * row_image, tap k at
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

  // The other way, where there are enough rows to fill vectors: rows are adjacent, and every
  // input that a tap meets is multiplied with a vector of them.
  static constexpr int kPixelKinds = 5;
  static constexpr int64_t kPixelTaps[kPixelKinds] = {1, 2, 4, 6, 12};
  // Pixels of images x depth x height x width; where each lies: `input_step` apart in the input
  // along each of these, and one after another in `row`, each `row_step` long.
  struct Pixels {
    const T *row, *input;
    const int64_t* offset;
    int64_t row_step;
    int64_t count[4], input_step[4];
  };
  // sum[k * sum_tap + r] += sum over pixels of row r times tap k, for 1 or 2 vectors of rows
  using ByPixel = void (*)(T* sum, int64_t sum_tap, const Pixels& from);
  int64_t lanes;
  int64_t most_taps;  // of a tile by pixels
  ByPixel by_pixel[2][kPixelKinds];
};

using FloatConvWeightLoops = ConvWeightLoops<float>;
using DoubleConvWeightLoops = ConvWeightLoops<double>;

UH_PER_ISA(FloatConvWeightLoops, float_conv_weight_loops)
UH_PER_ISA(DoubleConvWeightLoops, double_conv_weight_loops)

}  // namespace uh
