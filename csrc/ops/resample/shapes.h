// Shape rules of resample.yaml. Upsampled images have the input's memory format, channels_last
// included.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace uh::shapes {

// `takes_bytes`: true if uint8 images are accepted.
Tensor upsample(std::string_view op, const Tensor& self, const Dims& output_size, int64_t dims,
                bool takes_bytes);
Tensor upsample_backward(const Tensor& grad_output, const Dims& input_sizes,
                         const std::vector<double>& factors, const std::string& mode);
Tensor grid_sampler(std::string_view op, int64_t dims, const Tensor& input, const Tensor& grid,
                    int64_t mode, int64_t padding);
Tensor affine_grid(const Tensor& theta, const Dims& size);

}  // namespace uh::shapes
