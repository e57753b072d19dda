// Shape rules of fft.yaml.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace uh {

// Returns the dimensions of a transform, counted from the first; throws if one occurs twice.
Dims fft_dims(const Tensor& self, const Dims& dims, std::string_view op);
// Returns a result whose other dimensions have the input's order, followed by the transformed ones
// in descending stride, so that each line is read and written contiguously. `halved`: the last of
// `dims` is innermost, because one side of it has only the half of the values.
Tensor empty_fft_result(const Tensor& self, const Dims& sizes, const Dims& dims, DType dtype,
                        bool halved);

}  // namespace uh

namespace uh::shapes {

Tensor fft_c2c(const Tensor& self, const Dims& dim);
Tensor fft_r2c(const Tensor& self, const Dims& dim, bool onesided);
Tensor fft_c2r(const Tensor& self, const Dims& dim, int64_t last_dim_size);

}  // namespace uh::shapes
