#include "gradients.h"

#include "products.h"

namespace sparse_conv {
namespace {

using uh::Tensor;
using Context = uh::AutogradContext;

// Calls the operator, not the kernel, so that the formulas are differentiable too.
Tensor product(const Tensor& features, const Tensor& weight, const Tensor& in_rows,
               const Tensor& out_rows, const Tensor& starts, int64_t n_out) {
  static const auto op = uh::Dispatcher::singleton()
                             .findSchemaOrThrow("sparse_conv::gather_gemm_scatter", "")
                             .typed<decltype(gather_gemm_scatter)>();
  return op.call(features, weight, in_rows, out_rows, starts, n_out);
}
Tensor outer_products(const Tensor& features, const Tensor& grad, const Tensor& in_rows,
                      const Tensor& out_rows, const Tensor& starts) {
  static const auto op = uh::Dispatcher::singleton()
                             .findSchemaOrThrow("sparse_conv::weight_gradient", "")
                             .typed<decltype(weight_gradient)>();
  return op.call(features, grad, in_rows, out_rows, starts);
}

// Saves both operands, in_rows, out_rows and starts: the first five arguments of both operators.
void save_operands(Context& ctx, const std::vector<uh::Value>& inputs, const std::vector<Tensor>&) {
  std::vector<Tensor> saved;
  for (size_t i = 0; i < 5; ++i) saved.push_back(inputs[i].toTensor());
  ctx.save_for_backward(saved);
}

// In backward the pairs go from outputs to inputs, with each offset's matrix transposed.
std::vector<Tensor> product_gradients(Context& ctx, const std::vector<Tensor>& gradients) {
  const std::vector<Tensor> saved = ctx.get_saved_variables();
  const Tensor &features = saved[0], &weight = saved[1], &grad = gradients[0];
  const Tensor &in_rows = saved[2], &out_rows = saved[3], &starts = saved[4];
  std::vector<Tensor> result(6);
  if (ctx.needs_input_grad(0))
    result[0] =
        product(grad, uh::transpose(weight, 1, 2), out_rows, in_rows, starts, features.size(0));
  if (ctx.needs_input_grad(1))
    result[1] = outer_products(features, grad, in_rows, out_rows, starts);
  return result;
}

std::vector<Tensor> outer_product_gradients(Context& ctx, const std::vector<Tensor>& gradients) {
  const std::vector<Tensor> saved = ctx.get_saved_variables();
  const Tensor &features = saved[0], &grad = saved[1], &grad_weight = gradients[0];
  const Tensor &in_rows = saved[2], &out_rows = saved[3], &starts = saved[4];
  std::vector<Tensor> result(5);
  if (ctx.needs_input_grad(0))
    result[0] = product(grad, uh::transpose(grad_weight, 1, 2), out_rows, in_rows, starts,
                        features.size(0));
  if (ctx.needs_input_grad(1))
    result[1] = product(features, grad_weight, in_rows, out_rows, starts, grad.size(0));
  return result;
}

}  // namespace

void register_gradients(uh::Library& library) {
  library.autograd("gather_gemm_scatter", product_gradients, save_operands);
  library.autograd("weight_gradient", outer_product_gradients, save_operands);
}

}  // namespace sparse_conv
