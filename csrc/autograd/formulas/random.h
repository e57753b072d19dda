// Gradients of dropout.
#pragma once

#include "autograd/formula.h"
#include "generated/ops/random.h"

namespace uh::autograd {

// Scales by 1 / (1 - p) the elements that dropout did not zero.
inline Tensor dropout_backward(const Tensor& grad, const Tensor& mask, double p,
                               std::optional<bool> train) {
  const double scale = !train.value_or(true) || p == 1 ? 1 : 1 / (1 - p);
  return ops::native_dropout_backward(grad, mask, scale);
}

}  // namespace uh::autograd
