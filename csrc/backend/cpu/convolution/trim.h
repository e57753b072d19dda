// Kernels without taps that read only padding. Of a 3x3 kernel on a 1-pixel image, only the centre
// reads the pixel; without the other eight taps the convolution is a matrix product.
#pragma once

#include "backend/cpu/convolution/convolve.h"

namespace uh {

struct TrimmedKernel {
  Tensor weight;  // a view of the full kernel
  ConvolutionOptions options;
};

// Returns the taps of `weight` that connect a pixel of `in` to one of `out`, and adjusted options.
// Taps between the first and the last such tap are kept.
TrimmedKernel trim(const Tensor& weight, const Tensor& in, const Tensor& out,
                   const ConvolutionOptions& options);

}  // namespace uh
