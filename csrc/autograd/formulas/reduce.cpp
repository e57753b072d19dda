#include "autograd/formulas/reduce.h"

#include <algorithm>

#include "autograd/formulas/basics.h"
#include "autograd/formulas/scan.h"
#include "generated/ops/comparison.h"
#include "generated/ops/creation.h"
#include "generated/ops/join.h"
#include "generated/ops/reduce.h"
#include "generated/ops/scan.h"
#include "generated/ops/scatter.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"

namespace uh::autograd {
namespace {

// The reduced dimensions as non-negative indices.
Dims reduced_dims(const Tensor& self, const std::optional<Dims>& dim) {
  Dims dims;
  const bool all = !dim || dim->empty();
  for (int64_t d = 0; d < self.ndim(); ++d) {
    bool is_reduced = all;
    for (size_t i = 0; !is_reduced && i < dim->size(); ++i)
      is_reduced = (*dim)[i] == d || (*dim)[i] + self.ndim() == d;
    if (is_reduced) dims.push_back(d);
  }
  return dims;
}

// The derivative at a zero is the product of the other elements, so dividing by the element is
// wrong: multiplies the products of the elements before and after each one.
Tensor prod_of_others(const Tensor& self, const std::optional<Dims>& dim) {
  Dims order;
  const Dims removed_dims = reduced_dims(self, dim);
  Dims flat_sizes;
  for (int64_t d = 0; d < self.ndim(); ++d) {
    if (std::find(removed_dims.begin(), removed_dims.end(), d) != removed_dims.end()) continue;
    order.push_back(d);
    flat_sizes.push_back(self.size(d));
  }
  for (const int64_t d : removed_dims) order.push_back(d);
  flat_sizes.push_back(reduced(self.sizes(), dim));
  const Tensor turned = ops::permute(self, order);
  const Tensor flat = ops::reshape(turned, flat_sizes);
  const Dims last{flat.ndim() - 1};
  const Tensor before = exclusive_cumprod(flat, last[0]);
  const Tensor after = ops::flip(exclusive_cumprod(ops::flip(flat, last), last[0]), last);
  return ops::permute(ops::reshape(before * after, turned.sizes()), inverse(order));
}

}  // namespace

Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                     const std::optional<Dims>& dim, bool keepdim) {
  if (self.ndim() == 0) return grad;
  const Tensor spread = with_dims(grad, self.sizes(), dim, keepdim);
  if (!has_zero(self)) return spread * conj(with_dims(result, self.sizes(), dim, keepdim) / self);
  return spread * conj(prod_of_others(self, dim));
}

Tensor extreme_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                        const std::optional<Dims>& dim, bool keepdim) {
  const Tensor selected = ops::eq(self, with_dims(result, self.sizes(), dim, keepdim));
  const Tensor sharers = ops::sum(selected, dim, true);
  return selected * (with_dims(grad, self.sizes(), dim, keepdim) / sharers);
}

Tensor aminmax_backward(const Tensor& grad_min, const Tensor& grad_max, const Tensor& self,
                        std::optional<int64_t> dim, bool keepdim, const Tensor& min,
                        const Tensor& max) {
  std::optional<Dims> dims;
  if (dim) dims = Dims{*dim};
  Tensor low, high;
  if (grad_min) low = extreme_backward(grad_min, self, min, dims, keepdim);
  if (grad_max) high = extreme_backward(grad_max, self, max, dims, keepdim);
  return low && high ? low + high : low ? low : high;
}

Tensor evenly_distributed(const Tensor& grad, const Tensor& self, const Tensor& result) {
  const Tensor both_nan = ops::logical_and(ops::isnan(self), ops::isnan(result));
  const Tensor selected = ops::logical_or(ops::eq(self, result), both_nan);
  // Not a product: where `self` was written in between nothing is selected, and 0 * inf is NaN.
  return ops::where(selected, grad / ops::sum(selected, std::nullopt, false), Scalar(0));
}

Tensor chosen_backward(const Tensor& grad, int64_t dim, const Tensor& indices, const Dims& sizes,
                       bool keepdim) {
  const bool widen = !keepdim && !sizes.empty();
  const Tensor spread = widen ? ops::unsqueeze(grad, dim) : grad;
  const Tensor positions = widen ? ops::unsqueeze(indices, dim) : indices;
  const Tensor result = ops::zeros(sizes, grad.dtype(), grad.device());
  ops::scatter__src(result, dim, positions, spread);
  return result;
}

Tensor logsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                          const std::optional<Dims>& dim, bool keepdim) {
  const Tensor share = ops::exp(self - with_dims(result, self.sizes(), dim, keepdim));
  return with_dims(grad, self.sizes(), dim, keepdim) * conj(share);
}

}  // namespace uh::autograd
