#include "autograd/formula.h"

#include "generated/ops/creation.h"

namespace uh::autograd {

std::vector<TensorInfo> infos(const std::vector<Tensor>& tensors) {
  std::vector<TensorInfo> result;
  for (const Tensor& t : tensors) result.emplace_back(t);
  return result;
}

namespace {

Tensor zeros(IntSpan sizes, DType dtype, Device device) {
  return ops::zeros(Dims(sizes), dtype, device);
}

}  // namespace

Tensor or_zeros(const Tensor& gradient, const TensorInfo& like) {
  return gradient ? gradient : zeros(like.sizes(), like.dtype(), like.device());
}
Tensor or_zeros(const Tensor& gradient, const Tensor& like) {
  return gradient ? gradient : zeros(like.sizes(), like.dtype(), like.device());
}

Tensor with_own_history(const Tensor& other, const Tensor& written) {
  if (!other || &other.impl()->counter() != &written.impl()->counter()) return other;
  const Ref<Node> node = grad_fn(other);
  if (!node) return other;
  const Tensor same = alias(other, other.impl()->layout());
  meta(same).set_history(node, meta(other).history().input);
  same.impl()->add_key(Key::kAutograd);
  return same;
}

Operand with_own_history(const Operand& other, const Tensor& written) {
  return other.is_number() ? other : Operand(with_own_history(other.tensor, written));
}

void copy_result(const Tensor& self, const Tensor& result, std::string_view op) {
  check(self.sizes() == result.sizes(), op, ": the result has sizes ", result.sizes(),
        ", which do not fit into those of self, ", self.sizes());
  ops::copy_(self, result, false);
}

void store_gradients(Gradients& out, size_t first, std::vector<Tensor> result) {
  for (size_t i = 0; i < result.size(); ++i) out[first + i] = std::move(result[i]);
}

}  // namespace uh::autograd
