// Convolutions of 1-pixel images with 1-tap kernels: matrix products, as in `linear`.
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

}  // namespace uh
