// Second derivatives of activations and losses: factors for the double backward of fused gradients.
#pragma once

#include "autograd/formula.h"
#include "generated/ops/comparison.h"
#include "generated/ops/transcendental.h"

namespace uh::autograd {

Tensor elu_second(const Tensor& grad, const Tensor& self, const Scalar& alpha, const Scalar& scale,
                  const Scalar& input_scale);
Tensor silu_second(const Tensor& self);
Tensor mish_second(const Tensor& self);
Tensor hardswish_second(const Tensor& grad, const Tensor& self);
Tensor softplus_second(const Tensor& self, const Scalar& beta, const Scalar& threshold);
Tensor gelu_none_second(const Tensor& self);
Tensor gelu_tanh_second(const Tensor& self);

Tensor smooth_second(const Tensor& grad, const Tensor& self, const Tensor& target, double beta,
                     double factor);
Tensor huber_second(const Tensor& grad, const Tensor& self, const Tensor& target, double delta,
                    double factor);
Tensor bernoulli_second(const Tensor& self, const Tensor& target, double factor);
Tensor soft_margin_second(const Tensor& self, const Tensor& target, double factor);
Tensor soft_margin_mixed(const Tensor& self, const Tensor& target, double factor);

}  // namespace uh::autograd
