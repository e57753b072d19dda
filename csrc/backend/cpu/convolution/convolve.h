// Convolutions of up to three dimensions and their transposes.
//
// Every output pixel is a sum over taps, and a tap is a fixed offset in a buffer that holds the
// padded input. With a stride, the phases are stored separately, so that neighbours in the output
// are neighbours there. A transposed convolution is one such sum per residue of the output index
// modulo the stride. backend/cpu/conv_loops.h sums tiles of channels x pixels. by_channels.h,
// scatter.h and product.h have alternatives, each faster for some sizes.
// Invariant: arguments are checked and `out` has the right sizes (ops/convolution/shapes.h).
#pragma once

#include "ops/convolution/shapes.h"

namespace uh {

// out = convolution of input (N, C, ...) with weight, plus bias (may be empty). `out` is contiguous
// float32, float64 or int64; the other tensors are converted to its dtype.
void convolve(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
              const ConvolutionOptions& options);

// Computes the gradient of a weight. Element weight[r, c, k] connects output r to input c: `rows`
// is the gradient of the output, `columns` the input; if transposed, the input and the gradient.
// `out` is contiguous; all tensors are float32 or all float64.
void convolve_weight(const Tensor& out, const Tensor& rows, const Tensor& columns,
                     const ConvolutionOptions& options);

}  // namespace uh
