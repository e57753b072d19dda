#include "autograd/formulas/comparison.h"

#include "generated/ops/comparison.h"

namespace uh::autograd {

Tensor fmax_takes(const Tensor& self, const Tensor& other) {
  return ops::logical_or(ops::ge(self, other), ops::isnan(other));
}
Tensor fmin_takes(const Tensor& self, const Tensor& other) {
  return ops::logical_or(ops::le(self, other), ops::isnan(other));
}

Tensor clamp_backward_self(const Tensor& grad, const Tensor& self, const Tensor& min,
                           const Tensor& max) {
  Tensor selected = min ? ops::ge(self, min) : ops::le(self, max);
  if (min && max) selected = ops::logical_and(selected, ops::le(self, max));
  return ops::where(selected, grad, Scalar(0));
}

Tensor clamp_backward_min(const Tensor& grad, const Tensor& self, const Tensor& min,
                          const Tensor& max) {
  Tensor selected = ops::lt(self, min);
  if (max) selected = ops::logical_and(selected, ops::lt(min, max));
  return ops::where(selected, grad, Scalar(0));
}

Tensor clamp_backward_max(const Tensor& grad, const Tensor& self, const Tensor& min,
                          const Tensor& max) {
  Tensor selected = ops::gt(self, max);
  if (min) selected = ops::logical_or(selected, ops::lt(max, min));
  return ops::where(selected, grad, Scalar(0));
}

}  // namespace uh::autograd
