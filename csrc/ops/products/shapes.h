// Shape rules of products.yaml.
#pragma once

#include "tensor/tensor.h"

namespace uh::shapes {

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2);
Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2);
Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec);
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias);

}  // namespace uh::shapes
