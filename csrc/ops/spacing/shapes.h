// Shape rules of spacing.yaml.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace uh::shapes {

Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, DType dtype, Device device);
Tensor window(std::string_view op, int64_t window_length, DType dtype, Device device);

}  // namespace uh::shapes
