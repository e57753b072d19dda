// The operators of loss.yaml.
#include <cmath>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/loss/pointwise_loss.h"
#include "generated/kernels/loss.h"
#include "generated/ops/activation.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/loss.h"
#include "generated/ops/transcendental.h"
#include "generated/pointwise/loss.h"

namespace uh::kernels {
namespace {

Tensor plus(const Operand& a, const Operand& b) { return ops::add(a, b, Scalar(1)); }
Tensor minus(const Operand& a, const Operand& b) { return ops::sub(a, b, Scalar(1)); }

template <class... Numbers>
Tensor of_two(const PointwiseOp& op, const Tensor& self, const Tensor& target, int64_t reduction,
              Numbers... numbers) {
  const Input inputs[] = {self, target};
  return pointwise_loss(op, inputs, Params{Scalar(numbers)...}, reduction);
}

// Throws for the first element that is not a probability.
void check_probabilities(const Tensor& self) {
  const Tensor wide = as_contiguous(self, DType::kFloat64);
  const auto* p = wide.data_as<double>();
  for (int64_t i = 0; i < wide.numel(); ++i)
    check(p[i] >= 0 && p[i] <= 1, "binary_cross_entropy: all elements of input should be between ",
          "0 and 1, got ", p[i], " at element ", i);
}

}  // namespace

Tensor mse_loss(KeySet, const Tensor& self, const Tensor& target, int64_t reduction) {
  return of_two(k__squared_difference, self, target, reduction);
}

Tensor l1_loss(KeySet, const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduced_loss(ops::abs(minus(self, target)), reduction);
}

Tensor smooth_l1_loss(KeySet keys, const Tensor& self, const Tensor& target, int64_t reduction,
                      double beta) {
  check(beta >= 0, "smooth_l1_loss: does not support negative values for beta, got ", beta);
  if (beta == 0) return l1_loss(keys, self, target, reduction);
  return of_two(k__smooth_difference, self, target, reduction, beta);
}

Tensor huber_loss(KeySet, const Tensor& self, const Tensor& target, int64_t reduction,
                  double delta) {
  check(delta > 0, "huber_loss: does not support non-positive values for delta, got ", delta);
  return of_two(k__huber_difference, self, target, reduction, delta);
}

Tensor binary_cross_entropy(KeySet, const Tensor& self, const Tensor& target, const Tensor& weight,
                            int64_t reduction) {
  for (const Tensor& other : {target, weight})
    check(!other || other.dtype() == self.dtype(), "binary_cross_entropy: found dtype ",
          info(other ? other.dtype() : self.dtype()).title, " but expected ",
          info(self.dtype()).title);
  const Tensor losses = of_two(k__bernoulli_difference, self, target, weight ? 0 : reduction);
  if (!losses.is_meta() && losses.numel() > 0) {
    const Tensor sum = ops::sum(losses, std::nullopt, false, DType::kUndefined);
    if (std::isnan(read_scalar(sum).to_double())) check_probabilities(self);
  }
  return weight ? reduced_loss(ops::mul(losses, weight), reduction) : losses;
}

Tensor binary_cross_entropy_with_logits(KeySet, const Tensor& self, const Tensor& target,
                                        const Tensor& weight, const Tensor& pos_weight,
                                        int64_t reduction) {
  // PyTorch multiplies 1 - target in place: it has to hold the products.
  constexpr std::string_view kOp = "binary_cross_entropy_with_logits";
  check(is_inexact(target.dtype()) || !is_inexact(self.dtype()), kOp, ": result type ",
        info(self.dtype()).title, " can't be cast to the desired output type ",
        info(target.dtype()).title);
  const Dims sizes = broadcast_shapes(target.sizes(), self.sizes());
  check(sizes == target.sizes(), kOp, ": output with shape ", target.sizes(),
        " doesn't match the broadcast shape ", sizes);
  Tensor losses;
  if (pos_weight) {
    const Tensor factor = plus(ops::mul(minus(pos_weight, Scalar(1)), target), Scalar(1));
    losses =
        minus(ops::mul(minus(Scalar(1), target), self), ops::mul(ops::log_sigmoid(self), factor));
  } else {
    losses = ops::_logit_difference(self, target);
  }
  if (weight) losses = ops::mul(losses, weight);
  return reduced_loss(losses, reduction);
}

Tensor soft_margin_loss(KeySet, const Tensor& self, const Tensor& target, int64_t reduction) {
  return of_two(k__soft_margin_difference, self, target, reduction);
}

Tensor kl_div(KeySet, const Tensor& self, const Tensor& target, int64_t reduction,
              bool log_target) {
  check(!is_complex(self.dtype()) && !is_complex(target.dtype()),
        "kl_div: complex input is not supported");
  check(is_floating(self.dtype()) && is_floating(target.dtype()),
        "kl_div: Integral inputs not supported.");
  const Tensor losses = log_target ? ops::mul(ops::exp(target), minus(target, self))
                                   : minus(ops::xlogy(target, target), ops::mul(target, self));
  return reduced_loss(losses, reduction);
}

Tensor poisson_nll_loss(KeySet, const Tensor& input, const Tensor& target, bool log_input,
                        bool full, double eps, int64_t reduction) {
  Tensor losses = log_input ? minus(ops::exp(input), ops::mul(target, input))
                            : minus(input, ops::mul(target, ops::log(plus(input, Scalar(eps)))));
  if (full) {
    constexpr double kTwoPi = 6.283185307179586;
    const Tensor half = ops::mul(ops::log(ops::mul(target, Scalar(kTwoPi))), Scalar(0.5));
    const Tensor stirling = plus(minus(ops::mul(target, ops::log(target)), target), half);
    losses = plus(losses, ops::where(ops::le(target, Scalar(1)), Scalar(0), stirling));
  }
  return reduced_loss(losses, reduction);
}

}  // namespace uh::kernels
