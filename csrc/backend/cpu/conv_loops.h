// The inner loops of convolutions: a tile of output channels x pixels, all taps summed in
// registers.
//
// Each tap of each input channel is a run of pixels at `offset[k]` from the tile's position in a
// buffer, so one loop serves all kernel sizes, strides, dilations and 1 to 3 dimensions.
// Invariant: the order in which the taps of a result are added depends only on their number, not on
// the instruction set, tile size or threads.
// Read next: convolution/convolve.h.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"

namespace uh {

// Pixels of a tile that are adjacent in the buffer and in the output.
struct ConvRun {
  int64_t at;      // index of the first pixel in the tile
  int64_t length;  // number of pixels
  int64_t input;   // offset in the buffer, in elements from the buffer's first pixel
  int64_t output;  // offset in the output, from the first pixel of the first channel
};

template <class T>
struct ConvLoops {
  static constexpr int kRowKinds = 4;     // tiles of 1, 2, 4, 8 channels
  static constexpr int kVectorKinds = 4;  // tiles of 1, 2, 3, 6 vectors of pixels
  static constexpr int kVectors[kVectorKinds] = {1, 2, 3, 6};

  // out[r * out_row + j] = start[r] + sum_k weight[k * rows + r] * input[offset[k] + j]; without
  // `start`, adds to out instead.
  using Tile = void (*)(T* out, int64_t out_row, const T* weight, const T* input,
                        const int64_t* offset, int64_t taps, const T* start);

  int64_t lanes;                       // pixels per vector
  int row_kinds;                       // number of kinds in use
  int64_t max_vectors[kRowKinds];      // per tile with that number of channels
  Tile tile[kRowKinds][kVectorKinds];  // null if it exceeds the registers
  // panel[k * width + j] = input[offset[k] + position of pixel j]; the rest of a row is 0.
  void (*pack)(T* panel, int64_t width, const T* input, const int64_t* offset, int64_t taps,
               const ConvRun* runs, int64_t n);
  // out[r * out_row + position of pixel j] = tile[r * tile_row + j]; pixels are `step` apart.
  void (*store)(T* out, int64_t out_row, int64_t step, const T* tile, int64_t tile_row,
                int64_t rows, const ConvRun* runs, int64_t n);
};

using FloatConvLoops = ConvLoops<float>;
using DoubleConvLoops = ConvLoops<double>;
using IntConvLoops = ConvLoops<uint64_t>;  // wraps like int64

UH_PER_ISA(FloatConvLoops, float_conv_loops)
UH_PER_ISA(DoubleConvLoops, double_conv_loops)
UH_PER_ISA(IntConvLoops, int_conv_loops)

}  // namespace uh
