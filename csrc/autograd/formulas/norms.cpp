#include "autograd/formulas/norms.h"

#include <cmath>

#include "autograd/formulas/basics.h"
#include "generated/ops/comparison.h"
#include "generated/ops/masked.h"
#include "generated/ops/norms.h"
#include "generated/ops/reduce.h"
#include "generated/ops/transcendental.h"

namespace uh::autograd {
namespace {

Tensor zero_where(const Tensor& values, const Tensor& zero) {
  return ops::masked_fill_Scalar(values, ops::eq(zero, Scalar(0)), Scalar(0));
}

Tensor power(const Tensor& self, double exponent) {
  return exponent == 1 ? self : ops::pow(self, Scalar(exponent));
}

}  // namespace

Tensor norm_backward(const Tensor& input, const Tensor& self, const Scalar& ord,
                     const Tensor& result, const std::optional<Dims>& dim, bool keepdim) {
  const double p = ord.to_double();
  if (p == 0) return Tensor();
  const Tensor grad = with_dims(input, self.sizes(), dim, keepdim);
  const Tensor norm = with_dims(result, self.sizes(), dim, keepdim);
  if (p == 1) return ops::sgn(self) * grad;
  // One pass; only the other order of operations has a second derivative of 0 at 0, and does not
  // divide by a norm whose inverse is infinite in 16 bits.
  if (p == 2 && !grad_enabled() && !is_reduced_floating(self.dtype()))
    return self * zero_where(grad / norm, norm);
  if (p == 2) return grad * zero_where(self / norm, norm);
  const Tensor size = ops::abs(self);
  if (std::isinf(p)) {  // equal maxima, or all NaN, share the gradient
    const Tensor selected = ops::logical_or(ops::eq(size, norm), ops::isnan(size));
    return ops::sgn(self) * (grad / ops::sum(selected, dim, true) * selected);
  }
  // |x|^(p - 1) sgn(x) / norm^(p - 1)
  if (p < 1) {
    const Tensor slope = zero_where(ops::sgn(self) * power(size, p - 1), self);
    return slope * (grad * power(norm, 1 - p));
  }
  const Tensor slope = p < 2 ? ops::sgn(self) * power(size, p - 1) : self * power(size, p - 2);
  return slope * zero_where(grad / power(norm, p - 1), norm);
}

Tensor renorm_backward(const Tensor& grad, const Tensor& self, const Scalar& p, int64_t dim,
                       const Scalar& maxnorm) {
  Dims others;
  for (int64_t d = 0; d < self.ndim(); ++d)
    if (d != dim && d != dim + self.ndim()) others.push_back(d);
  const Tensor norm = ops::linalg_vector_norm(self, p, others, true);
  Tensor along = ops::sum(conj(self) * grad, others, true);
  if (is_complex(along.dtype())) along = ops::real_view(along);
  const Tensor inverse = Scalar(1) / (norm + Scalar(1e-7));
  const Tensor lost = inverse * norm_backward(along, self, p, norm, others, true);
  const Tensor shrunk = maxnorm * inverse * (grad - lost);
  return ops::where(ops::gt(norm, maxnorm), shrunk, grad);
}

}  // namespace uh::autograd
