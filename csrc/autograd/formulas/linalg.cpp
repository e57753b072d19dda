#include "autograd/formulas/linalg.h"

#include "autograd/formulas/sparse.h"
#include "generated/ops/linalg.h"
#include "generated/ops/view.h"

namespace uh::autograd {
namespace {

bool is_transposed(const TensorInfo& matrix) {
  return matrix.strides()[0] == 1 && matrix.strides()[1] == matrix.size(0) && matrix.size(0) > 1;
}

}  // namespace

Tensor mm_gradient_of_left(const Tensor& grad, const Tensor& right, const TensorInfo& left) {
  if (right.is_sparse()) [[unlikely]] {
    if (grad.is_sparse()) return ops::mm(grad, conj(transposed(right)));
    return ops::t(ops::_spmm(conj(right), ops::t(grad)));
  }
  if (is_transposed(left)) return ops::t(ops::mm(conj(right), ops::t(grad)));
  return ops::mm(grad, conj(ops::t(right)));
}

Tensor mm_gradient_of_right(const Tensor& left, const Tensor& grad, const TensorInfo& right) {
  if (left.is_sparse()) [[unlikely]] {
    if (grad.is_sparse()) return ops::mm(conj(transposed(left)), grad);
    return ops::_spmm(conj(left), grad, true);
  }
  if (is_transposed(right)) return ops::t(ops::mm(ops::t(grad), conj(left)));
  return ops::mm(conj(ops::t(left)), grad);
}

Tensor mv_gradient_of_vector(const Tensor& matrix, const Tensor& grad) {
  if (matrix.is_sparse()) [[unlikely]]
    return ops::squeeze(ops::_spmm(conj(matrix), ops::unsqueeze(grad, 1), true), Dims{1});
  return ops::mv(conj(ops::t(matrix)), grad);
}

}  // namespace uh::autograd
