#include "autograd/formulas/attention.h"

#include <cmath>
#include <limits>

#include "generated/ops/arrange.h"
#include "generated/ops/attention.h"
#include "generated/ops/comparison.h"
#include "generated/ops/creation.h"
#include "generated/ops/linalg.h"
#include "generated/ops/masked.h"
#include "generated/ops/reduce.h"
#include "generated/ops/softmax.h"
#include "generated/ops/view.h"

namespace uh::autograd {
namespace {

Tensor converted(const Tensor& self, DType dtype) {
  if (self.dtype() == dtype) return self;
  return ops::_to_copy(self, dtype, Device::kUndefined, MemoryFormat::kUndefined);
}

Tensor turned(const Tensor& self) { return ops::transpose(self, -2, -1); }

}  // namespace

// With weights p = softmax(s), s = scale q k^T + mask, and out = p v:
// ds = p (dp - sum_j p_j dp_j), where dp = grad v^T and the sum equals that of grad * out.
std::tuple<Tensor, Tensor, Tensor, Tensor> attention_backward(
    const Tensor& grad_in, const Tensor& query_in, const Tensor& key_in,
    const Tensor& value_in, const Tensor& mask, const Tensor& output, const Tensor& logsumexp,
    bool is_causal, std::optional<double> scale, bool needs_mask) {
  if (!grad_enabled() && !needs_mask) {  // no double backward: compute it in one pass
    auto [grad_query, grad_key, grad_value] =
        ops::_scaled_dot_product_flash_attention_for_cpu_backward(
            grad_in, query_in, key_in, value_in, output, logsumexp, 0, is_causal, mask,
            scale);
    return {grad_query, grad_key, grad_value, Tensor()};
  }
  const DType dtype = query_in.dtype();
  const DType compute = is_reduced_floating(dtype) ? DType::kFloat32 : dtype;
  const Tensor grad = converted(grad_in, compute), query = converted(query_in, compute),
               key = converted(key_in, compute), value = converted(value_in, compute);
  const int64_t width = query.size(query.ndim() - 1);
  const Scalar factor(scale ? *scale : 1 / std::sqrt(static_cast<double>(width)));
  constexpr double kNever = -std::numeric_limits<double>::infinity();

  Tensor scores = ops::matmul(query * factor, turned(key));
  if (mask && mask.dtype() != DType::kBool) scores = scores + converted(mask, compute);
  Tensor retained = mask && mask.dtype() == DType::kBool ? mask : Tensor();
  if (is_causal) {
    const Dims square{query.size(query.ndim() - 2), key.size(key.ndim() - 2)};
    const Tensor earlier = ops::tril(ops::ones(square, DType::kBool, query.device()), 0);
    retained = retained ? ops::logical_and(retained, earlier) : earlier;
  }
  if (retained)
    scores = ops::masked_fill_Scalar(scores, ops::logical_not(retained), Scalar(kNever));

  Tensor weights = ops::softmax(scores, -1, DType::kUndefined);
  const Tensor nothing = ops::all(ops::eq(scores, Scalar(kNever)), Dims{-1}, true);
  weights = ops::masked_fill_Scalar(weights, nothing, Scalar(0));
  const Tensor grad_value = ops::matmul(turned(weights), grad);
  const Tensor grad_weights = ops::matmul(grad, turned(value));
  const Tensor mean = ops::sum(grad * converted(output, compute), Dims{-1}, true);
  const Tensor grad_scores = weights * (grad_weights - mean);
  const Tensor grad_query = ops::matmul(grad_scores, key) * factor;
  const Tensor grad_key = ops::matmul(turned(grad_scores), query) * factor;
  const bool added = mask && mask.dtype() != DType::kBool;
  return {converted(grad_query, dtype), converted(grad_key, dtype), converted(grad_value, dtype),
          added ? grad_scores : Tensor()};
}

}  // namespace uh::autograd
