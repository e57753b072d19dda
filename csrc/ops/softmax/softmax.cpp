// The shape rules and composites of softmax.yaml.
#include "generated/kernels/softmax.h"
#include "generated/ops/copy.h"
#include "generated/ops/softmax.h"
#include "ops/copy/in_dtype.h"
#include "ops/operand_checks.h"
#include "ops/softmax/shapes.h"

namespace uh::shapes {

Tensor softmax(std::string_view op, const Tensor& self, int64_t dim, bool half_to_float) {
  wrap_dim(dim, self.ndim(), op);
  check_kind(self.numel() == 0 || is_floating(self.dtype()), ErrorKind::kNotImplemented, "\"", op,
             "_kernel_impl\" not implemented for '", info(self.dtype()).title, "'");
  check(!half_to_float, op, ": half_to_float is for the GPU, got ", half_to_float);
  return empty(self.sizes(), self.dtype(), self.device());
}

Tensor softmax_backward(std::string_view op, const Tensor& grad, const Tensor& output, int64_t dim,
                        DType input_dtype) {
  wrap_dim(dim, output.ndim(), op);
  check(grad.sizes() == output.sizes(), op, ": the gradient has sizes ", grad.sizes(),
        ", the output ", output.sizes());
  check_together(op, output, {&grad}, true);
  check_kind(is_floating(output.dtype()) && is_floating(grad.dtype()) && is_floating(input_dtype),
             ErrorKind::kNotImplemented, "\"", op, "_backward_data\" not implemented for '",
             info(output.dtype()).title, "'");
  return empty(output.sizes(), input_dtype, output.device());
}

}  // namespace uh::shapes

namespace uh::kernels {
Tensor softmax(KeySet, const Tensor& self, int64_t dim, DType dtype) {
  return ops::_softmax(in_dtype(self, dtype), dim, false);
}
Tensor log_softmax(KeySet, const Tensor& self, int64_t dim, DType dtype) {
  return ops::_log_softmax(in_dtype(self, dtype), dim, false);
}

}  // namespace uh::kernels
