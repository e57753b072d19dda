// Gradients of element-wise minima, maxima and clamps.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// True for the elements of `self` that fmax and fmin return: also in ties, never for NaN.
Tensor fmax_takes(const Tensor& self, const Tensor& other);
Tensor fmin_takes(const Tensor& self, const Tensor& other);

// clamp with tensor bounds, either of which may be undefined; `max` has priority over a larger
// `min`.
Tensor clamp_backward_self(const Tensor& grad, const Tensor& self, const Tensor& min,
                           const Tensor& max);
Tensor clamp_backward_min(const Tensor& grad, const Tensor& self, const Tensor& min,
                          const Tensor& max);
Tensor clamp_backward_max(const Tensor& grad, const Tensor& self, const Tensor& min,
                          const Tensor& max);

}  // namespace uh::autograd
