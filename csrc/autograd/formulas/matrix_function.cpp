#include "autograd/formulas/matrix_function.h"

#include "autograd/formulas/matrix.h"
#include "generated/ops/join.h"
#include "generated/ops/matrix_function.h"

namespace uh::autograd {

using namespace matrix;  // NOLINT: the words of this file

Tensor matrix_exp_gradient(const Tensor& grad, const Tensor& self) {
  const Tensor turned = adjoint(self);
  const int64_t n = self.sizes().back();
  const Tensor none = ops::zeros(self.sizes(), self.dtype(), self.device());
  const Tensor blocks = ops::cat({ops::cat({turned, grad}, -1), ops::cat({none, turned}, -1)}, -2);
  return ops::narrow(first_rows(ops::linalg_matrix_exp(blocks), n), -1, n, n);
}

}  // namespace uh::autograd
