#include "autograd/formulas/masked.h"

#include "generated/ops/comparison.h"
#include "generated/ops/creation.h"
#include "generated/ops/join.h"
#include "generated/ops/masked.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"

namespace uh::autograd {

Tensor masked_sum(const Tensor& grad, const Tensor& mask) {
  return ops::sum(ops::where(mask, grad, Scalar(0)), std::nullopt, false);
}

Tensor masked_select_backward(const Tensor& grad, const Dims& sizes, const Tensor& mask) {
  const Tensor result =
      ops::zeros(broadcast_shapes(sizes, mask.sizes()), grad.dtype(), grad.device());
  ops::masked_scatter_(result, mask, grad);
  return result;
}

Tensor masked_scatter_backward(const Tensor& grad, const Tensor& mask, const Dims& sizes) {
  const Tensor used = ops::masked_select(grad, mask);
  const int64_t unused = numel_of(sizes) - used.numel();
  if (unused == 0) return ops::reshape(used, sizes);
  const Tensor remainder = ops::zeros(Dims{unused}, grad.dtype(), grad.device());
  return ops::reshape(ops::cat({used, remainder}, 0), sizes);
}

}  // namespace uh::autograd
