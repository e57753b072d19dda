// Constants and gradients of transcendental functions.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

inline constexpr double kLog2 = 0.69314718055994530942, kLog10 = 2.30258509299404568402;
inline constexpr double kRadian = 0.01745329251994329577;  // pi / 180
inline constexpr double kTwoBySqrtPi = 1.12837916709551257390;

Tensor acosh_backward(const Tensor& grad, const Tensor& self);
Tensor erf_backward(const Tensor& grad, const Tensor& self);
// grad * log(other), and 0 where `self` is 0 even if the logarithm is not finite.
Tensor xlogy_backward(const Tensor& grad, const Operand& self, const Operand& other);

// 1 / (a^2 + b^2), and 0 where both are 0, so that the gradient of atan2 at the origin is 0.
Tensor inverse_square(const Tensor& a, const Tensor& b);

}  // namespace uh::autograd
