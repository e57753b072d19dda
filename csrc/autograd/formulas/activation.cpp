#include "autograd/formulas/activation.h"

#include "generated/ops/join.h"
#include "generated/ops/pointwise_backward.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"

namespace uh::autograd {

// Gradient of a * sigmoid(b), where a and b are the halves of `self`.
Tensor glu_backward(const Tensor& grad, const Tensor& self, int64_t dim) {
  const int64_t half = self.size(dim < 0 ? dim + self.ndim() : dim) / 2;
  const Tensor a = ops::narrow(self, dim, 0, half);
  const Tensor gate = ops::sigmoid(ops::narrow(self, dim, half, half));
  return ops::cat({grad * gate, ops::sigmoid_backward(grad * a, gate)}, dim);
}

}  // namespace uh::autograd
