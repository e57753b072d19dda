#include "autograd/formulas/gather.h"

#include "generated/ops/creation.h"
#include "generated/ops/index_write.h"
#include "generated/ops/scatter.h"

namespace uh::autograd {

Tensor gather_backward(const Tensor& grad, const Dims& sizes, int64_t dim, const Tensor& index) {
  const Tensor result = ops::zeros(sizes, grad.dtype(), grad.device());
  ops::scatter_add_(result, dim, index, grad);
  return result;
}

Tensor gather_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index) {
  return gather_backward(grad, self.sizes(), dim, index);
}

Tensor index_select_backward(const Tensor& grad, const Dims& sizes, int64_t dim,
                             const Tensor& index) {
  const Tensor result = ops::zeros(sizes, grad.dtype(), grad.device());
  ops::index_add_(result, dim, index, grad);
  return result;
}

Tensor take_backward(const Tensor& grad, const Tensor& self, const Tensor& index) {
  const Tensor result = ops::zeros(self.sizes(), grad.dtype(), grad.device());
  ops::put_(result, index, grad, true);
  return result;
}

}  // namespace uh::autograd
