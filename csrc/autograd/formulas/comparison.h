// Gradients of choices between elements.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// True for the elements of `self` that fmax and fmin return: not for NaN, but for ties.
Tensor fmax_takes(const Tensor& self, const Tensor& other);
Tensor fmin_takes(const Tensor& self, const Tensor& other);

// clamp with tensors, either of which may be absent; `max` wins over a `min` above it.
Tensor clamp_backward_self(const Tensor& grad, const Tensor& self, const Tensor& min,
                           const Tensor& max);
Tensor clamp_backward_min(const Tensor& grad, const Tensor& self, const Tensor& min,
                          const Tensor& max);
Tensor clamp_backward_max(const Tensor& grad, const Tensor& self, const Tensor& min,
                          const Tensor& max);

}  // namespace uh::autograd
