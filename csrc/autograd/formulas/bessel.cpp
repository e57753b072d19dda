#include "autograd/formulas/bessel.h"

#include <limits>

#include "generated/ops/bessel.h"
#include "generated/ops/comparison.h"
#include "generated/ops/transcendental.h"

namespace uh::autograd {
namespace {

// The gradient for the derivative `slope`, which divides by x. Near 0 the derivative is 1/2; there
// `slope` is evaluated at eps, so that its unused result is finite.
template <class F>
Tensor away_from_zero(const Tensor& grad, const Tensor& self, const F& slope) {
  const double eps = self.dtype() == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                                     : std::numeric_limits<double>::epsilon();
  const Tensor far = ops::gt(ops::abs(self), Scalar(eps));
  const Tensor x = ops::where(far, self, Scalar(eps));
  return grad * ops::where(far, slope(x), Scalar(0.5));
}

}  // namespace

Tensor i1_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  return away_from_zero(grad, self, [&](const Tensor& x) { return ops::i0(x) - result / x; });
}

Tensor i1e_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  return away_from_zero(grad, self, [&](const Tensor& x) {
    return ops::special_i0e(x) - result * (ops::sgn(x) + ops::reciprocal(x));
  });
}

}  // namespace uh::autograd
