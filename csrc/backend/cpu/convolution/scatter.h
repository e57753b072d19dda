// Transposed convolutions by adding every input pixel's share to the outputs that it reaches.
#pragma once

#include "backend/cpu/convolution/convolve.h"

namespace uh {

// True if that is less work than summing over the taps of every output, many of which meet no
// input: `convolve` of a transposed convolution asks. float32 and float64 only.
bool scatter_pays(const Tensor& out, const Tensor& input, const Tensor& weight,
                  const ConvolutionOptions& options);
void convolve_by_scatter(const Tensor& out, const Tensor& input, const Tensor& weight,
                         const Tensor& bias, const ConvolutionOptions& options);

}  // namespace uh
