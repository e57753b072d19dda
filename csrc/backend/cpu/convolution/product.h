// Convolutions as matrix products: of 1-pixel images with 1-tap kernels, as in `linear`, and of few
// pixels with many channels, whose windows are copied into the rows of a matrix. There the weights
// are most of the data, and the product reads them in place; the tiles would reorder them first.
#pragma once

#include "backend/cpu/convolution/convolve.h"

namespace uh {

// Returns true if this convolution, or gradient of one, of floats is such a product.
bool is_product(const Tensor& out, const Tensor& input, const Tensor& weight,
                const ConvolutionOptions& options);

// `transposed`: the weight is (input channels, output channels) instead of the reverse.
void convolve_by_product(const Tensor& out, const Tensor& input, const Tensor& weight,
                         const Tensor& bias, bool transposed);
// Computes the gradient of the weight: see convolve_weight().
void weight_by_product(const Tensor& out, const Tensor& rows, const Tensor& columns);

// Returns true if the windows of `small`, the side with fewer pixels (of a forward convolution the
// output), should be copied; `large` is the other side.
bool has_few_windows(const Tensor& small, const Tensor& large, const Tensor& weight,
                     const ConvolutionOptions& options);

// convolve() and convolve_weight() by windows.
void convolve_windows(const Tensor& out, const Tensor& input, const Tensor& weight,
                      const Tensor& bias, const ConvolutionOptions& options);
void weight_by_windows(const Tensor& out, const Tensor& rows, const Tensor& columns,
                       const ConvolutionOptions& options);

}  // namespace uh
