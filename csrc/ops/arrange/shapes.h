// Shape rules of arrange.yaml.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace uh::shapes {

Tensor triangle(std::string_view op, const Tensor& self);
void triangle_inplace(std::string_view op, const Tensor& self);

}  // namespace uh::shapes
