// Gradients of special functions.
#pragma once

#include "autograd/formula.h"
#include "autograd/formulas/transcendental.h"

namespace uh::autograd {

inline constexpr double kSqrtTwoPi = 2.50662827463100050242, kSqrtHalf = 0.70710678118654752440;

Tensor sinc_backward(const Tensor& grad, const Tensor& self);
Tensor logit_backward(const Tensor& grad, const Tensor& self, const std::optional<double>& eps);
Tensor mvlgamma_backward(const Tensor& grad, const Tensor& self, int64_t p);
// The derivative of the lower incomplete gamma function with respect to its upper limit.
Tensor gamma_density(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor xlog1py_backward(const Tensor& grad, const Operand& self, const Operand& other);

}  // namespace uh::autograd
