// Products of Householder reflectors where gradients are wanted: one reflector after the other.
#include "generated/kernels/decompose.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/arrange.h"
#include "generated/ops/complex.h"
#include "generated/ops/creation.h"
#include "generated/ops/join.h"
#include "generated/ops/linalg.h"
#include "generated/ops/view.h"
#include "ops/linalg/matrices.h"

namespace uh::kernels {
namespace {

// Vector i of the reflectors in `packed`: 0 before the diagonal, 1 on it, what is below. As
// columns.
Tensor reflectors(const Tensor& packed, int64_t k) {
  const Tensor below = ops::tril(ops::narrow(packed, -1, 0, k), -1);
  const Tensor ones = ops::eye(rows_of(packed), k, packed.dtype(), packed.device());
  return ops::add(below, ones, Scalar(1));
}

// (I - tau v v^H) x, or with conj(tau).
Tensor reflected(const Tensor& x, const Tensor& vectors, const Tensor& tau, int64_t i,
                 bool adjoint) {
  const Tensor v = ops::narrow(vectors, -1, i, 1);
  Tensor factor = ops::unsqueeze(ops::narrow(tau, -1, i, 1), -1);
  if (adjoint && is_complex(tau.dtype())) factor = ops::conj(factor);
  const Tensor along = ops::matmul(ops::adjoint(v), x);
  return ops::sub(x, ops::mul(factor, ops::matmul(v, along)), Scalar(1));
}

}  // namespace

Tensor householder_product_calls(KeySet keys, const Tensor& input, const Tensor& tau) {
  const bool fits = input.ndim() >= 2 && tau.ndim() == input.ndim() - 1 &&
                    rows_of(input) >= columns_of(input) &&
                    columns_of(input) >= tau.sizes().back() && tau.dtype() == input.dtype() &&
                    batch_of(tau, 1) == batch_of(input);
  if (!fits) return linalg_householder_product(keys, input, tau);  // raises
  const int64_t k = tau.sizes().back();
  const Tensor vectors = reflectors(input, k);
  Tensor q = ops::expand(ops::eye(rows_of(input), columns_of(input), input.dtype(), input.device()),
                         input.sizes(), false);
  for (int64_t i = k - 1; i >= 0; --i) q = reflected(q, vectors, tau, i, false);
  return k > 0 ? q : ops::add(q, ops::mul(input, Scalar(0)), Scalar(1));
}

Tensor ormqr_calls(KeySet keys, const Tensor& self, const Tensor& tau, const Tensor& other,
                   bool left, bool transpose) {
  const auto& side = other.sizes();
  const bool fits = self.ndim() >= 2 && other.ndim() == self.ndim() &&
                    tau.ndim() == self.ndim() - 1 &&
                    side[side.size() - (left ? 2 : 1)] == rows_of(self) &&
                    tau.sizes().back() <= columns_of(self) && tau.sizes().back() <= rows_of(self) &&
                    self.dtype() == tau.dtype() && self.dtype() == other.dtype() &&
                    batch_of(tau, 1) == batch_of(self) && batch_of(other) == batch_of(self);
  if (!fits) return ormqr(keys, self, tau, other, left, transpose);  // raises
  // From the right: other Q is the adjoint of Q^H other^H.
  const bool turned = left ? transpose : !transpose;
  const int64_t k = tau.sizes().back();
  const Tensor vectors = reflectors(self, k);
  Tensor x = left ? other : ops::adjoint(other);
  for (int64_t step = 0; step < k; ++step)
    x = reflected(x, vectors, tau, turned ? step : k - 1 - step, turned);
  return left ? x : ops::adjoint(x);
}

}  // namespace uh::kernels
