// Depthwise convolutions: every channel has its own kernel, and no channel meets another.
//
// The other algorithms would sum one channel at a time, with vectors along its pixels. In a narrow
// image few lanes of those have a pixel of the row, and strides separate the pixels. Here, a
// vector holds the same pixel of many channels (conv_channel_loops.h).
#pragma once

#include "backend/cpu/convolution/convolve.h"

namespace uh {

// Returns true if this convolution, or gradient of one, should be computed so. `small` is the side
// with fewer pixels (of a forward convolution the output), `large` the other side.
bool is_depthwise(const Tensor& small, const Tensor& large, const Tensor& weight,
                  const ConvolutionOptions& options);

// convolve() and convolve_weight() of depthwise convolutions.
void convolve_depthwise(const Tensor& out, const Tensor& input, const Tensor& weight,
                        const Tensor& bias, const ConvolutionOptions& options);
void depthwise_weight(const Tensor& out, const Tensor& rows, const Tensor& columns,
                      const ConvolutionOptions& options);

}  // namespace uh
