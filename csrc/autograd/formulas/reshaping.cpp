#include "autograd/formulas/reshaping.h"

#include "generated/ops/reshaping.h"

namespace uh::autograd {

Tensor fill_diagonal_backward(const Tensor& grad, bool wrap) {
  const Tensor made = ops::clone(grad, MemoryFormat::kPreserve);
  ops::fill_diagonal_(made, Scalar(0), wrap);
  return made;
}

}  // namespace uh::autograd
