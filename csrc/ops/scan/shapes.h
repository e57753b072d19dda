// Shape rules of scan.yaml.
#pragma once

#include "ops/reduce/shapes.h"

namespace uh::shapes {

Tensor scanned(std::string_view op, const Tensor& self, int64_t dim, DType dtype);
Tensor logcumsumexp(const Tensor& self, int64_t dim);
// Returns the values and indices of cummax or cummin.
std::tuple<Tensor, Tensor> running_extreme(std::string_view op, const Tensor& self, int64_t dim);

}  // namespace uh::shapes
