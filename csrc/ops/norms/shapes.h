// Shape rules of norms.yaml.
#pragma once

#include "ops/reduce/shapes.h"

namespace uh::shapes {

Tensor vector_norm(const Tensor& self, const Scalar& ord, const std::optional<Dims>& dim,
                   bool keepdim, DType dtype);

}  // namespace uh::shapes
