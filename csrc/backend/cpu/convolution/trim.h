// Kernels without the taps that meet padding only. Of a 3x3 kernel on a map of one pixel, only the
// centre meets the pixel: without the other eight taps it is a product of matrices.
#pragma once

#include "backend/cpu/convolution/convolve.h"

namespace uh {

struct TrimmedKernel {
  Tensor weight;  // a view of the whole kernel
  ConvolutionOptions options;
};

// The taps of `weight` that meet a pixel of both `in` and `out`, the input and the output of the
// convolution, and the options for them. Taps between the first and the last of these stay.
TrimmedKernel trim(const Tensor& weight, const Tensor& in, const Tensor& out,
                   const ConvolutionOptions& options);

}  // namespace uh
