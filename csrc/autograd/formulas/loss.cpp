#include "autograd/formulas/loss.h"

#include "generated/ops/activation.h"
#include "generated/ops/comparison.h"
#include "generated/ops/pointwise_backward.h"
#include "generated/ops/transcendental.h"

namespace uh::autograd {

double loss_factor(int64_t reduction, const Dims& self, const Dims& target) {
  constexpr int64_t kMean = 1;
  if (reduction != kMean) return 1;
  return 1 / static_cast<double>(numel_of(broadcast_shapes(self, target)));
}

Tensor weighted(const Tensor& grad, const Tensor& weight) { return weight ? grad * weight : grad; }

// Uses the unclamped logarithms, although the loss clamps them at -100.
Tensor bernoulli_backward_target(const Tensor& grad, const Tensor& self, double factor) {
  return grad * (ops::log1p(-self) - ops::log(self)) * Scalar(factor);
}

Tensor logits_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                       const Tensor& weight, const Tensor& pos_weight, double factor) {
  if (!pos_weight) return weighted(ops::_logit_backward(self, target, grad, factor), weight);
  const Tensor positive = pos_weight * target;
  const Tensor slope = (positive - target + Scalar(1)) * ops::sigmoid(self) - positive;
  return weighted(grad * slope * Scalar(factor), weight);
}

Tensor logits_backward_target(const Tensor& grad, const Tensor& self, const Tensor& weight,
                              const Tensor& pos_weight, double factor) {
  const Tensor slope =
      pos_weight ? ops::log_sigmoid(-self) - pos_weight * ops::log_sigmoid(self) : -self;
  return weighted(grad * slope * Scalar(factor), weight);
}

}  // namespace uh::autograd
