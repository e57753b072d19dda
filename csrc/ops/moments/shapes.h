// Shape rules of moments.yaml.
#pragma once

#include "ops/reduce/shapes.h"

namespace uh::shapes {

// Returns a variance or standard deviation, which is real, and optionally the mean.
Tensor spread(std::string_view op, const Tensor& self, const std::optional<Dims>& dim,
              bool keepdim);
std::tuple<Tensor, Tensor> spread_and_mean(std::string_view op, const Tensor& self,
                                           const std::optional<Dims>& dim, bool keepdim);

}  // namespace uh::shapes
