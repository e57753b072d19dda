// Gradients of products of Householder reflections H = I - tau v v^H.
#include "autograd/formulas/decompose.h"
#include "autograd/formulas/matrix.h"
#include "generated/ops/decompose.h"
#include "generated/ops/join.h"

namespace uh::autograd {

using namespace matrix;  // NOLINT: the words of this file

namespace {

int64_t rows_of(const Tensor& t) { return t.size(t.ndim() - 2); }

struct ReflectionGradients {
  Tensor packed, tau, start;
};

// The gradients of y = H1 ... Hk start, or Hk^H ... H1^H start if `turned`. The input of each
// reflection is recomputed: only the arguments are saved.
ReflectionGradients reflection_gradients(Tensor grad, const Tensor& start, const Tensor& packed,
                                         const Tensor& tau, bool turned) {
  const int64_t k = tau.sizes().back(), n = packed.sizes().back();
  const Tensor vectors = ops::tril(first_columns(packed, k), -1) +
                         ops::eye(rows_of(packed), k, packed.dtype(), packed.device());
  const auto vector = [&](int64_t i) { return ops::narrow(vectors, -1, i, 1); };
  const auto factor = [&](int64_t i) {
    const Tensor own = column(ops::narrow(tau, -1, i, 1));
    return turned ? conj(own) : own;
  };
  const auto of_step = [&](int64_t step) { return turned ? step : k - 1 - step; };
  std::vector<Tensor> inputs{start};
  for (int64_t step = 0; step + 1 < k; ++step) {
    const Tensor v = vector(of_step(step)), &x = inputs.back();
    inputs.push_back(x - factor(of_step(step)) * times(v, times(adjoint(v), x)));
  }
  std::vector<Tensor> to_vectors(static_cast<size_t>(k)), to_tau(static_cast<size_t>(k));
  for (int64_t step = k - 1; step >= 0; --step) {
    const int64_t i = of_step(step);
    const Tensor v = vector(i), f = factor(i), &x = inputs[static_cast<size_t>(step)];
    const Tensor along = times(adjoint(v), x), back = times(adjoint(v), grad);
    const Tensor to_factor = -times(back, adjoint(along));
    to_tau[static_cast<size_t>(i)] = ops::squeeze(turned ? conj(to_factor) : to_factor, Dims{-1});
    to_vectors[static_cast<size_t>(i)] =
        -(conj(f) * times(grad, adjoint(along)) + f * times(x, adjoint(back)));
    grad = grad - conj(f) * times(v, back);
  }
  Tensor to_packed = ops::tril(ops::cat(to_vectors, -1), -1);
  if (n > k) {
    const Tensor unread = ops::zeros_like(ops::narrow(packed, -1, k, n - k), packed.dtype(),
                                          Device::kUndefined, MemoryFormat::kUndefined);
    to_packed = ops::cat({to_packed, unread}, -1);
  }
  return {to_packed, ops::cat(to_tau, -1), grad};
}

}  // namespace

std::tuple<Tensor, Tensor> householder_product_gradients(const Tensor& grad, const Tensor& input,
                                                         const Tensor& tau) {
  if (input.numel() == 0 || tau.numel() == 0) return {};
  const Tensor identity =
      ops::eye(rows_of(input), input.sizes().back(), input.dtype(), input.device());
  const auto result =
      reflection_gradients(grad, ops::expand(identity, input.sizes(), false), input, tau, false);
  return {result.packed, result.tau};
}

std::tuple<Tensor, Tensor, Tensor> ormqr_gradients(const Tensor& grad, const Tensor& self,
                                                   const Tensor& tau, const Tensor& other,
                                                   bool left, bool transpose, bool wants_factors) {
  if (!wants_factors || self.numel() == 0 || tau.numel() == 0)
    return {Tensor(), Tensor(), ops::ormqr(self, tau, grad, left, !transpose)};
  // From the right: other Q is the adjoint of Q^H other^H.
  const auto side = [left](const Tensor& t) { return left ? t : adjoint(t); };
  const auto result =
      reflection_gradients(side(grad), side(other), self, tau, left ? transpose : !transpose);
  return {result.packed, result.tau, side(result.start)};
}

}  // namespace uh::autograd
