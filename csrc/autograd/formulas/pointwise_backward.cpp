#include "autograd/formulas/pointwise_backward.h"

#include "autograd/formulas/basics.h"
#include "generated/ops/activation.h"

namespace uh::autograd {
namespace {

const Scalar kOne(1), kTwo(2), kZero(0);

Tensor bell(const Tensor& self) {  // the density of the normal distribution
  return ops::exp(self * self * Scalar(-0.5)) * Scalar(0.39894228040143267794);
}

}  // namespace

Tensor elu_second(const Tensor& grad, const Tensor& self, const Scalar& alpha, const Scalar& scale,
                  const Scalar& input_scale) {
  const double inner = input_scale.to_double();
  const double factor = inner * inner * alpha.to_double() * scale.to_double();
  return ops::where(ops::le(self, kZero), grad * ops::exp(self * input_scale) * Scalar(factor),
                    kZero);
}

Tensor silu_second(const Tensor& self) {
  const Tensor s = ops::sigmoid(self);
  return s * (kOne - s) * (self * (kOne - s * kTwo) + kTwo);
}

// x tanh(softplus(x)): t = tanh(softplus(x)) has the derivative w s, with w = 1 - t * t.
Tensor mish_second(const Tensor& self) {
  const Tensor s = ops::sigmoid(self), t = ops::tanh(ops::softplus(self, kOne, Scalar(20)));
  return (kOne - t * t) * s * (self * (kOne - s) - self * t * s * kTwo + kTwo);
}

Tensor hardswish_second(const Tensor& grad, const Tensor& self) {
  const Tensor inside = ops::logical_and(ops::gt(self, Scalar(-3)), ops::lt(self, Scalar(3)));
  return ops::where(inside, grad * Scalar(1.0 / 3), kZero);
}

Tensor softplus_second(const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  const Tensor scaled = self * beta, s = ops::sigmoid(scaled);
  return ops::where(ops::gt(scaled, threshold), kZero, s * (kOne - s) * beta);
}

Tensor gelu_none_second(const Tensor& self) { return bell(self) * (kTwo - self * self); }

// x (1 + tanh(u)) / 2 with u = k (x + c x^3).
Tensor gelu_tanh_second(const Tensor& self) {
  constexpr double k = 0.79788456080286535588, c = 0.044715;
  const Tensor square = self * self;
  const Tensor t = ops::tanh(self * (square * Scalar(k * c) + Scalar(k)));
  const Tensor first = square * Scalar(3 * k * c) + Scalar(k), second = self * Scalar(6 * k * c);
  const Tensor w = kOne - t * t;
  return w * (first + self * Scalar(0.5) * (second - t * first * first * kTwo));
}

Tensor smooth_second(const Tensor& grad, const Tensor& self, const Tensor& target, double beta,
                     double factor) {
  if (beta == 0) return zero_gradient(grad);
  const Tensor near = ops::lt(ops::abs(self - target), Scalar(beta));
  return ops::where(near, grad * Scalar(factor / beta), kZero);
}

Tensor huber_second(const Tensor& grad, const Tensor& self, const Tensor& target, double delta,
                    double factor) {
  const Tensor near = ops::le(ops::abs(self - target), Scalar(delta));
  return ops::where(near, grad * Scalar(factor), kZero);
}

// Derivative of (x - t) / (x (1 - x)).
Tensor bernoulli_second(const Tensor& self, const Tensor& target, double factor) {
  const Tensor variance = ops::clamp_min((kOne - self) * self, Scalar(1e-12));
  return (self * self - self * target * kTwo + target) / (variance * variance) * Scalar(factor);
}

// Derivative of -t s(-t x), with the sigmoid s.
Tensor soft_margin_second(const Tensor& self, const Tensor& target, double factor) {
  const Tensor s = ops::sigmoid(-(target * self));
  return target * target * s * (kOne - s) * Scalar(factor);
}
Tensor soft_margin_mixed(const Tensor& self, const Tensor& target, double factor) {
  const Tensor s = ops::sigmoid(-(target * self));
  return s * (target * self * (kOne - s) - kOne) * Scalar(factor);
}

}  // namespace uh::autograd
