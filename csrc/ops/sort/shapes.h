// Shape rules of sort.yaml.
#pragma once

#include <string_view>
#include <tuple>

#include "tensor/tensor.h"

namespace uh::shapes {

// Values and indices.
std::tuple<Tensor, Tensor> sorted(const Tensor& self, int64_t dim);
std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim);
Tensor argsort(const Tensor& self, int64_t dim);

}  // namespace uh::shapes
