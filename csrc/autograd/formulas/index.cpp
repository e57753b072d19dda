#include "autograd/formulas/index.h"

#include "generated/ops/creation.h"
#include "generated/ops/index.h"

namespace uh::autograd {

Tensor index_backward(const Tensor& grad, const Dims& sizes, const std::vector<Tensor>& indices) {
  bool repeats = false;  // masks select no position twice
  for (const Tensor& t : indices)
    repeats = repeats || (t && t.dtype() != DType::kBool && t.dtype() != DType::kUInt8);
  const Tensor result = ops::zeros(sizes, grad.dtype(), grad.device());
  ops::index_put_(result, indices, grad, repeats);
  return result;
}

Tensor index_put_self_backward(const Tensor& grad, const std::vector<Tensor>& indices,
                               bool accumulate) {
  if (accumulate) return grad;
  return ops::index_put(grad, indices, ops::zeros(Dims{}, grad.dtype(), grad.device()), false);
}

}  // namespace uh::autograd
