#include "autograd/formulas/normalize.h"

#include "generated/ops/normalize.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"

namespace uh::autograd {
namespace {

Tensor sum_of(const Tensor& a, const Tensor& b) { return a && b ? a + b : a ? a : b; }

// d rstd / dx = -rstd^3 (x - mean) / n
Tensor through_rstd(const Tensor& grad, const Tensor& centre, const Tensor& rstd, int64_t n) {
  return grad * ops::pow(rstd, Scalar(3)) * centre * Scalar(-1.0 / static_cast<double>(n));
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> group_norm_gradients(const Gradients& grads, const Tensor& input,
                                                        const Tensor& weight, const Tensor& mean,
                                                        const Tensor& rstd, int64_t n, int64_t c,
                                                        int64_t hxw, int64_t group,
                                                        const Dims& target_sizes) {
  std::tuple<Tensor, Tensor, Tensor> result;
  if (grads[0])
    result = ops::native_group_norm_backward(grads[0], input, mean, rstd, weight, n, c, hxw, group,
                                             target_sizes);
  if (!target_sizes[0] || !(grads[1] || grads[2])) return result;
  const int64_t count = c / group * hxw;
  const Dims each{n, group, 1}, whole{n, group, count};
  Tensor more;
  if (grads[1])
    more = ops::expand(ops::reshape(grads[1], each), whole, false) *
           Scalar(1.0 / static_cast<double>(count));
  if (grads[2]) {
    const Tensor centre = ops::reshape(input, whole) - ops::reshape(mean, each);
    more = sum_of(
        more, through_rstd(ops::reshape(grads[2], each), centre, ops::reshape(rstd, each), count));
  }
  std::get<0>(result) = sum_of(std::get<0>(result), ops::reshape(more, input.sizes()));
  return result;
}

std::tuple<Tensor, Tensor> rms_norm_gradients(const Gradients& grads, const Tensor& input,
                                              const Dims& shape, const Tensor& weight,
                                              const Tensor& rstd, const Dims& target_sizes) {
  std::tuple<Tensor, Tensor> result;
  if (grads[0])
    result = ops::_fused_rms_norm_backward(grads[0], input, shape, rstd, weight, target_sizes);
  if (target_sizes[0] && grads[1])
    std::get<0>(result) =
        sum_of(std::get<0>(result), through_rstd(grads[1], input, rstd, numel_of(shape)));
  return result;
}

}  // namespace uh::autograd
