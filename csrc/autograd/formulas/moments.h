// Gradients of variance and standard deviation.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

using Correction = std::optional<Scalar>;

Tensor var_backward(const Tensor& grad, const Tensor& self, const std::optional<Dims>& dim,
                    const Correction& correction, bool keepdim);
Tensor std_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                    const std::optional<Dims>& dim, const Correction& correction, bool keepdim);
// Either gradient may be undefined.
Tensor var_mean_backward(const Tensor& grad, const Tensor& grad_mean, const Tensor& self,
                         const std::optional<Dims>& dim, const Correction& correction,
                         bool keepdim);
Tensor std_mean_backward(const Tensor& grad, const Tensor& grad_mean, const Tensor& self,
                         const Tensor& result, const std::optional<Dims>& dim,
                         const Correction& correction, bool keepdim);

}  // namespace uh::autograd
