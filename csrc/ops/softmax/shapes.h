// Shape rules of softmax.yaml.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace uh::shapes {

Tensor softmax(std::string_view op, const Tensor& self, int64_t dim, bool half_to_float);
Tensor softmax_backward(std::string_view op, const Tensor& grad, const Tensor& output, int64_t dim,
                        DType input_dtype);

}  // namespace uh::shapes
