// Shape rules of resample.yaml. Results have the input's memory format, channels_last included.
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

}  // namespace uh::shapes
