// Convolutions of up to three dimensions and their transposes: the arithmetic of the operators.
//
// What: every pixel of the output is a sum over taps, and a tap is a fixed distance in a buffer
// that holds the input with its padding (a stride keeps its phases apart, so that neighbours in the
// output are neighbours there). A transposed convolution is one such sum for every residue of the
// output's index modulo the stride. backend/cpu/conv_loops.h sums tiles of channels x pixels.
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

// One number of each for every spatial dimension.
inline ConvolutionOptions make_options(const Dims& stride, const Dims& padding,
                                       const Dims& dilation, bool transposed, int64_t groups) {
  ConvolutionOptions o;
  const size_t shift = kConvDims - stride.size();
  for (size_t i = 0; i < stride.size(); ++i) {
    o.stride[shift + i] = stride[i];
    o.padding[shift + i] = padding[i];
    o.dilation[shift + i] = dilation[i];
  }
  o.transposed = transposed;
  o.groups = groups;
  return o;
}

// out = convolution of input (N, C, ...) with weight, plus bias (may be empty). `out` is
// contiguous, of float32, float64 or int64; the others are converted on the way.
void convolve(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
              const ConvolutionOptions& options);

// The gradient of a weight. Forwards, weight[r, c, k] joined outputs r with inputs c: `rows` is the
// gradient of the output, `columns` the input; transposed, they are the input and the gradient.
// `out` is contiguous; all are of float32 or all of float64.
void convolve_weight(const Tensor& out, const Tensor& rows, const Tensor& columns,
                     const ConvolutionOptions& options);

}  // namespace uh
