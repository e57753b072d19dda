// Convolutions in which a vector holds the same pixel of many output channels.
//
// The tiles of convolve.cpp have their vectors along the pixels of a channel. In a narrow image few
// lanes of those have a pixel of the row, and a stride separates the pixels. Here both cost
// nothing, but results have to be transposed, and the channels have to fill a vector.
#pragma once

#include "backend/cpu/convolution/convolve.h"

namespace uh {

// Returns true if this convolution should be computed so, according to measured costs.
bool channels_pay(const Tensor& out, const Tensor& input, const Tensor& weight,
                  const ConvolutionOptions& options);
void convolve_by_channels(const Tensor& out, const Tensor& input, const Tensor& weight,
                          const Tensor& bias, const ConvolutionOptions& options);

// The same for the gradient of a depthwise convolution's weight: see convolve_weight().
bool channels_pay_for_weight(const Tensor& rows, const Tensor& columns, const Tensor& weight,
                             const ConvolutionOptions& options);
void weight_by_channels(const Tensor& out, const Tensor& rows, const Tensor& columns,
                        const ConvolutionOptions& options);

}  // namespace uh
