// Convolutions of images of one pixel with kernels of one tap: products of matrices, as `linear`.
#pragma once

#include "backend/cpu/convolution/convolve.h"

namespace uh {

// True if this convolution, or this gradient of one, of floats is such a product.
bool is_product(const Tensor& out, const Tensor& input, const Tensor& weight,
                const ConvolutionOptions& options);

// `transposed`: the weight is (channels of the input, of the output) instead of the other way
// round.
void convolve_by_product(const Tensor& out, const Tensor& input, const Tensor& weight,
                         const Tensor& bias, bool transposed);
// The gradient of the weight: see convolve_weight().
void weight_by_product(const Tensor& out, const Tensor& rows, const Tensor& columns);

}  // namespace uh
