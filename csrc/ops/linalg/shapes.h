// Shape rules of linalg.yaml.
#pragma once

#include "tensor/tensor.h"

namespace uh::shapes {

Tensor mm(const Tensor& self, const Tensor& mat2);
Tensor bmm(const Tensor& self, const Tensor& mat2);
Tensor mv(const Tensor& self, const Tensor& vec);
Tensor dot(const Tensor& self, const Tensor& tensor);
Tensor matmul(const Tensor& self, const Tensor& other);

}  // namespace uh::shapes
