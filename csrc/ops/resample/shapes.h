// Shape rules of resample.yaml. Results are in the memory format of the input (channels_last, too).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace uh::shapes {

// `takes_bytes`: uint8 images, too.
Tensor upsample(std::string_view op, const Tensor& self, const Dims& output_size, int64_t dims,
                bool takes_bytes);
Tensor upsample_backward(const Tensor& grad_output, const Dims& input_sizes,
                         const std::vector<double>& factors, const std::string& mode);

}  // namespace uh::shapes
