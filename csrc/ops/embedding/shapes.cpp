#include "ops/embedding/shapes.h"

#include "ops/embedding/row_indices.h"
#include "ops/operand_checks.h"

namespace uh::shapes {

Tensor embedding(const Tensor& weight, const Tensor& indices) {
  check(weight.ndim() == 2, "embedding: 'weight' must be 2-D, got sizes ", weight.sizes());
  check_row_indices(indices, "embedding");
  Dims sizes = indices.sizes();
  sizes.push_back(weight.size(1));
  return empty(sizes, weight.dtype(), weight.device());
}

Tensor embedding_dense_backward(const Tensor& grad_output, const Tensor& indices,
                                int64_t num_weights) {
  check_together("embedding_dense_backward", grad_output, {&indices}, true);
  Dims expected = indices.sizes();
  if (grad_output.ndim() > 0) expected.push_back(grad_output.sizes().back());
  check(grad_output.ndim() > 0 && grad_output.sizes() == expected,
        "embedding_dense_backward: the gradient has sizes ", grad_output.sizes(), ", the indices ",
        indices.sizes());
  check_kind(is_floating(grad_output.dtype()), ErrorKind::kNotImplemented,
             "\"embedding_backward\" not implemented for '", info(grad_output.dtype()).title, "'");
  check_row_indices(indices, "embedding_backward");
  return empty(Dims{num_weights, expected.back()}, grad_output.dtype(), grad_output.device());
}

void embedding_renorm(const Tensor& self, const Tensor& indices) {
  check(self.ndim() == 2, "embedding_renorm_: 'self' must be 2-D, got sizes ", self.sizes());
  check(is_floating(self.dtype()), "embedding_renorm_: expected a floating dtype, got ",
        name(self.dtype()));
  check_row_indices(indices, "embedding_renorm_");
}

}  // namespace uh::shapes
