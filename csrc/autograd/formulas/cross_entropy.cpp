#include "autograd/formulas/cross_entropy.h"

#include "generated/ops/cross_entropy.h"
#include "generated/ops/reduce.h"

namespace uh::autograd {

Tensor nll_twice(const Tensor& grad, const Tensor& target, const Tensor& weight, int64_t reduction,
                 int64_t ignore_index, const Tensor& total_weight) {
  constexpr int64_t kNone = 0, kMean = 1;
  const auto loss = [&](int64_t mode) {
    return grad.ndim() == 4 ? ops::nll_loss2d(grad, target, weight, mode, ignore_index)
                            : ops::nll_loss(grad, target, weight, mode, ignore_index);
  };
  if (reduction == kNone) return loss(kNone);
  const Tensor sum = loss(2);
  return reduction == kMean ? sum / total_weight : sum;
}

}  // namespace uh::autograd
