#include "autograd/formulas/moments.h"

#include <limits>

#include "autograd/formulas/basics.h"
#include "generated/ops/comparison.h"
#include "generated/ops/masked.h"
#include "generated/ops/reduce.h"

namespace uh::autograd {
namespace {

Tensor mean_backward(const Tensor& grad, const Tensor& self, const std::optional<Dims>& dim,
                     bool keepdim) {
  const auto count = static_cast<double>(reduced(self.sizes(), dim));
  return sum_backward(grad / Scalar(count), self.sizes(), dim, keepdim);
}

Tensor with_mean(const Tensor& result, const Tensor& grad_mean, const Tensor& self,
                 const std::optional<Dims>& dim, bool keepdim) {
  if (!grad_mean) return result;
  const Tensor more = mean_backward(grad_mean, self, dim, keepdim);
  return result ? result + more : more;
}

}  // namespace

Tensor var_backward(const Tensor& grad, const Tensor& self, const std::optional<Dims>& dim,
                    const Correction& correction, bool keepdim) {
  const double less = correction ? correction->to_double() : 1;
  const double freedom = static_cast<double>(reduced(self.sizes(), dim)) - less;
  const Tensor spread = with_dims(grad, self.sizes(), dim, keepdim);
  const Tensor mean = ops::mean(self, dim, true);
  if (freedom > 0) return Scalar(2 / freedom) * spread * (self - mean);
  using Limits = std::numeric_limits<double>;
  return spread *
         ops::where(ops::eq(self, mean), Scalar(Limits::quiet_NaN()), Scalar(Limits::infinity()));
}

Tensor std_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                    const std::optional<Dims>& dim, const Correction& correction, bool keepdim) {
  // The square root's gradient at 0 is set to 0.
  const Tensor of_var =
      ops::masked_fill_Scalar(grad / (result * Scalar(2)), ops::eq(result, Scalar(0)), Scalar(0));
  return var_backward(of_var, self, dim, correction, keepdim);
}

Tensor var_mean_backward(const Tensor& grad, const Tensor& grad_mean, const Tensor& self,
                         const std::optional<Dims>& dim, const Correction& correction,
                         bool keepdim) {
  Tensor result;
  if (grad) result = var_backward(grad, self, dim, correction, keepdim);
  return with_mean(result, grad_mean, self, dim, keepdim);
}

Tensor std_mean_backward(const Tensor& grad, const Tensor& grad_mean, const Tensor& self,
                         const Tensor& result, const std::optional<Dims>& dim,
                         const Correction& correction, bool keepdim) {
  Tensor output;
  if (grad) output = std_backward(grad, self, result, dim, correction, keepdim);
  return with_mean(output, grad_mean, self, dim, keepdim);
}

}  // namespace uh::autograd
