// Shape rules of distance.yaml.
#pragma once

#include <optional>

#include "tensor/tensor.h"

namespace uh::shapes {

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> mode);
Tensor pdist(const Tensor& self, double p);
Tensor cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p,
                      const Tensor& distance);
Tensor pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& distance);

}  // namespace uh::shapes
