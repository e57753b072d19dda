// Operators that optimizers and gradient clipping apply to a whole list of tensors in one call.
#include "generated/kernels/optim.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/norms.h"

namespace uh::kernels {

int64_t foreach_add_scalar(KeySet, const std::vector<Tensor>& self, const Scalar& scalar) {
  for (const Tensor& t : self) ops::add_(t, scalar, Scalar(1));
  return static_cast<int64_t>(self.size());
}

int64_t foreach_mul_tensor(KeySet, const std::vector<Tensor>& self, const Tensor& other) {
  for (const Tensor& t : self) ops::mul_(t, other);
  return static_cast<int64_t>(self.size());
}

std::vector<Tensor> foreach_norm(KeySet, const std::vector<Tensor>& self, const Scalar& ord,
                                 DType dtype) {
  std::vector<Tensor> result;
  result.reserve(self.size());
  for (const Tensor& t : self)
    result.push_back(ops::linalg_vector_norm(t, ord, std::nullopt, false, dtype));
  return result;
}

}  // namespace uh::kernels
