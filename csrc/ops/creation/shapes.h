// Shape rules of creation.yaml.
#pragma once

#include <optional>

#include "tensor/tensor.h"

namespace uh::shapes {

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype,
              Device device);
Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, DType dtype, Device device);
Tensor eye(int64_t n, std::optional<int64_t> columns, DType dtype, Device device);

}  // namespace uh::shapes
