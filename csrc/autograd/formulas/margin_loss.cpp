#include "autograd/formulas/margin_loss.h"

#include "generated/ops/comparison.h"
#include "generated/ops/gather.h"
#include "generated/ops/reduce.h"
#include "generated/ops/scatter.h"
#include "generated/ops/view.h"

namespace uh::autograd {

// Each class within the margin contributes to its own gradient and to the target's.
Tensor multi_margin_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                             const Scalar& p, const Scalar& margin, const Tensor& weight,
                             int64_t reduction) {
  constexpr int64_t kMean = 1;
  const int64_t classes = self.ndim() == 0 ? 1 : self.size(self.ndim() - 1),
                rows = self.numel() / classes;
  const Tensor x = ops::reshape(self, Dims{rows, classes});
  const Tensor selected = ops::reshape(target, Dims{rows, 1});
  const Tensor lacking = x - ops::gather(x, 1, selected) + margin;
  const Tensor slope = p.to_double() == 1 ? ops::_to_copy(ops::gt(lacking, Scalar(0)), x.dtype())
                                          : ops::clamp_min(lacking, Scalar(0)) * Scalar(2);
  Tensor pulls = ops::scatter_value(slope, 1, selected, Scalar(0));
  if (weight) {
    const Tensor flat = ops::reshape(weight, Dims{classes});
    pulls = pulls * ops::reshape(ops::index_select(flat, 0, ops::reshape(target, Dims{rows})),
                                 Dims{rows, 1});
  }
  pulls = ops::scatter_src(pulls, 1, selected, -ops::sum(pulls, Dims{1}, true));
  const double count = static_cast<double>(reduction == kMean ? classes * rows : classes);
  const Tensor outer = grad.ndim() == 0 ? grad : ops::reshape(grad, Dims{rows, 1});
  return ops::reshape(outer * pulls * Scalar(1 / count), self.sizes());
}

}  // namespace uh::autograd
