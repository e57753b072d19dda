// Convolutions of up to three dimensions and their transposes: the arithmetic behind the operators.
//
// What: every pixel of the output is a sum over taps, and a tap is a fixed distance in a buffer
// that holds the input with its padding (a stride keeps its phases apart, so that neighbours in the
// output are neighbours there). A transposed convolution is one such sum for every residue of the
// output's index modulo the stride. kernel/conv_loops.h sums tiles of channels x pixels.
// Invariant: arguments have been checked and `out` has the right sizes (convolution.cpp).
#pragma once

#include <array>

#include "tensor/tensor.h"

namespace uh {

inline constexpr size_t kConvDims = 3;
using Spatial = std::array<int64_t, kConvDims>;  // depth, height, width; unused ones come first

struct ConvolutionOptions {
  Spatial stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};
  bool transposed = false;
  int64_t groups = 1;
};

// out = convolution of input (N, C, ...) with weight, plus bias (may be empty). `out` is
// contiguous, of float32, float64 or int64; the others are converted on the way.
void convolve(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
              const ConvolutionOptions& options);

}  // namespace uh
