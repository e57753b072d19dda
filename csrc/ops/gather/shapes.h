// Shape rules of gather.yaml.
#pragma once

#include "tensor/tensor.h"

namespace uh::shapes {

Tensor gather(const Tensor& self, int64_t dim, const Tensor& index);
Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index);
Tensor take(const Tensor& self, const Tensor& index);

}  // namespace uh::shapes
