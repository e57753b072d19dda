#include "autograd/formulas/complex.h"

#include "autograd/formulas/basics.h"
#include "generated/ops/comparison.h"
#include "generated/ops/creation.h"

namespace uh::autograd {

// An increase of the angle moves z in the direction of iz.
Tensor part_backward(const Tensor& grad, const Dims& sizes, int64_t part) {
  Dims pairs = sizes;
  pairs.push_back(2);
  return ops::view_as_complex(ops::select_backward(grad, pairs, sizes.ndim(), part));
}

Tensor angle_backward(const Tensor& grad, const Tensor& self) {
  if (!is_complex(self.dtype())) return ops::zeros_like(self);
  const Tensor re = ops::real_view(self), im = ops::imag_view(self);
  const Tensor turned = self * Scalar(Complex128(0, 1)) * (grad / (re * re + im * im));
  return ops::where(ops::eq(self, Scalar(0)), Scalar(0), turned);
}

// A change of z in its own direction changes only its length; the remainder changes its direction.
Tensor sgn_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  if (!is_complex(self.dtype())) return zero_gradient(grad);
  const Tensor length = ops::abs(self);
  const Tensor along = ops::real_view(conj(result) * grad);
  return ops::where(ops::eq(length, Scalar(0)), Scalar(0), (grad - result * along) / length);
}

}  // namespace uh::autograd
