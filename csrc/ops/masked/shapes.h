// Shape rules of masked.yaml.
#pragma once

#include "tensor/tensor.h"

namespace uh::shapes {

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value);
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value);
void masked_fill_inplace(const Tensor& self, const Tensor& mask, const Scalar& value);
void masked_fill_inplace(const Tensor& self, const Tensor& mask, const Tensor& value);
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source);
void masked_scatter_inplace(const Tensor& self, const Tensor& mask, const Tensor& source);

}  // namespace uh::shapes
