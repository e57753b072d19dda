#include "autograd/formulas/reshaping.h"

#include "generated/ops/reshaping.h"

namespace uh::autograd {

Tensor fill_diagonal_backward(const Tensor& grad, bool wrap) {
  const Tensor result = ops::clone(grad, MemoryFormat::kPreserve);
  ops::fill_diagonal_(result, Scalar(0), wrap);
  return result;
}

}  // namespace uh::autograd
