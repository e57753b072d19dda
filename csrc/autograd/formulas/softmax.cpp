#include "autograd/formulas/softmax.h"

#include "generated/ops/reduce.h"
#include "generated/ops/transcendental.h"

namespace uh::autograd {
namespace {

Tensor along(const Tensor& t, int64_t dim) { return ops::sum(t, Dims{dim}, true); }

}  // namespace

Tensor softmax_twice(const Tensor& grad, const Tensor& grad_output, int64_t dim,
                     const Tensor& output) {
  return grad * grad_output - along(output * grad_output, dim) * grad -
         grad_output * along(output * grad, dim);
}

Tensor log_softmax_twice(const Tensor& grad, const Tensor& grad_output, int64_t dim,
                         const Tensor& output) {
  return -(grad * ops::exp(output) * along(grad_output, dim));
}
Tensor log_softmax_gradient_twice(const Tensor& grad, int64_t dim, const Tensor& output) {
  return grad - along(grad * ops::exp(output), dim);
}

}  // namespace uh::autograd
