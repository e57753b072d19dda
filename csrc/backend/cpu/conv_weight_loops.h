// The inner loop of a convolution's weight gradient: a tile of rows x taps, all pixels summed in
// registers.
//
// A row is the gradient of one output channel, a tap an offset in a buffer of inputs; each weight
// is the dot product of a row with the run of pixels at its tap. Pixels are adjacent in both, so
// the loop runs along them and each loaded vector is used several times.
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

  // The operands of a tile: row r of image i starts at row + r * row_step + i * row_image, tap k at
  // input + offset[k] + i * input_image; each has `length` pixels.
  struct Source {
    const T *row, *input;
    const int64_t* offset;
    int64_t row_step, row_image, input_image, length, images;
  };
  // sum[r * sum_row + k] += sum of row r times tap k
  using Tile = void (*)(T* sum, int64_t sum_row, const Source& from);

  int row_kinds;  // number of kinds that fit the registers
  Tile tile[kRowKinds][kTapKinds];

  // The alternative for enough rows to fill vectors: rows are adjacent, and each input of a tap is
  // multiplied with a vector of them.
  static constexpr int kPixelKinds = 5;
  static constexpr int64_t kPixelTaps[kPixelKinds] = {1, 2, 4, 6, 12};
  // Pixels of images x depth x height x width: `input_step` apart in the input along each of these,
  // and consecutive in `row`, each `row_step` long.
  struct Pixels {
    const T *row, *input;
    const int64_t* offset;
    int64_t row_step;
    int64_t count[4], input_step[4];
  };
  // sum[k * sum_tap + r] += sum over pixels of row r times tap k, for 1 or 2 vectors of rows
  using ByPixel = void (*)(T* sum, int64_t sum_tap, const Pixels& from);
  int64_t lanes;
  int64_t max_taps;  // per tile by pixels
  ByPixel by_pixel[2][kPixelKinds];
};

using FloatConvWeightLoops = ConvWeightLoops<float>;
using DoubleConvWeightLoops = ConvWeightLoops<double>;

UH_PER_ISA(FloatConvWeightLoops, float_conv_weight_loops)
UH_PER_ISA(DoubleConvWeightLoops, double_conv_weight_loops)

}  // namespace uh
