// Shape rules of embedding.yaml.
#pragma once

#include "tensor/tensor.h"

namespace uh::shapes {

Tensor embedding(const Tensor& weight, const Tensor& indices);
Tensor embedding_dense_backward(const Tensor& grad_output, const Tensor& indices,
                                int64_t num_weights);
void embedding_renorm(const Tensor& self, const Tensor& indices);

}  // namespace uh::shapes
