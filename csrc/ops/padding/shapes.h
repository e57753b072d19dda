// Shape rules of padding.yaml. Results have the memory format of the input, channels_last included.
#pragma once

#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace uh::shapes {

Tensor constant_pad(const Tensor& self, const Dims& pad);
Tensor reflection_pad(std::string_view op, const Tensor& self, const Dims& padding, int64_t dims);
Tensor replication_pad(std::string_view op, const Tensor& self, const Dims& padding, int64_t dims);
Tensor circular_pad(const Tensor& self, const Dims& pad);
Tensor pad_backward(const Tensor& grad_output, const Dims& input_sizes, const Dims& pad,
                    const std::string& mode);

}  // namespace uh::shapes
