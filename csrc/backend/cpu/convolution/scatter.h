// Transposed convolutions that add every input pixel's contributions to the outputs it reaches.
#pragma once

#include "backend/cpu/convolution/convolve.h"

namespace uh {

// Returns true if that costs less than summing over the taps of every output, many of which read no
// input. float32 and float64 only.
bool scatter_pays(const Tensor& out, const Tensor& input, const Tensor& weight,
                  const ConvolutionOptions& options);
void convolve_by_scatter(const Tensor& out, const Tensor& input, const Tensor& weight,
                         const Tensor& bias, const ConvolutionOptions& options);

}  // namespace uh
