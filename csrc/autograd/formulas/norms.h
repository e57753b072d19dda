// Gradients of norms of vectors.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// Undefined for the order 0, which counts nonzero elements.
Tensor norm_backward(const Tensor& grad, const Tensor& self, const Scalar& ord,
                     const Tensor& result, const std::optional<Dims>& dim, bool keepdim);
Tensor renorm_backward(const Tensor& grad, const Tensor& self, const Scalar& p, int64_t dim,
                       const Scalar& maxnorm);

}  // namespace uh::autograd
