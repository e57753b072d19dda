// Convolutions of up to three dimensions and their transposes: the arithmetic of the operators.
//
// What: every pixel of the output is a sum over taps, and a tap is a fixed distance in a buffer
// that holds the input with its padding (a stride keeps its phases apart, so that neighbours in the
// output are neighbours there). A transposed convolution is one such sum for every residue of the
// output's index modulo the stride. backend/cpu/conv_loops.h sums tiles of channels x pixels.
// Invariant: arguments have been checked and `out` has the right sizes (ops/convolution/shapes.h).
#pragma once

#include "ops/convolution/shapes.h"

namespace uh {

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
