#include "autograd/formulas/linalg.h"

#include "generated/ops/linalg.h"
#include "generated/ops/view.h"

namespace uh::autograd {
namespace {

bool is_transposed(const TensorInfo& matrix) {
  return matrix.strides()[0] == 1 && matrix.strides()[1] == matrix.size(0) && matrix.size(0) > 1;
}

}  // namespace

Tensor mm_gradient_of_left(const Tensor& grad, const Tensor& right, const TensorInfo& left) {
  if (is_transposed(left)) return ops::t(ops::mm(conj(right), ops::t(grad)));
  return ops::mm(grad, conj(ops::t(right)));
}

Tensor mm_gradient_of_right(const Tensor& left, const Tensor& grad, const TensorInfo& right) {
  if (is_transposed(right)) return ops::t(ops::mm(ops::t(grad), conj(left)));
  return ops::mm(conj(ops::t(left)), grad);
}

}  // namespace uh::autograd
