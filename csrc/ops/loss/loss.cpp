// The composites of loss.yaml. Functions named *_calls serve devices without a fused loss and
// reduction.
#include "generated/kernels/loss.h"
#include "generated/ops/activation.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/loss.h"
#include "generated/ops/transcendental.h"
#include "ops/copy/in_dtype.h"
#include "ops/loss/arguments.h"
#include "ops/loss/reduction.h"

namespace uh {

Tensor soft_margin_target(const Tensor& self, const Tensor& target) {
  constexpr std::string_view kOp = "soft_margin_loss";
  check(!is_complex(self.dtype()) && !is_complex(target.dtype()), kOp,
        ": complex input is not supported");
  check(is_floating(self.dtype()), kOp, ": result type ", info(default_dtype()).title,
        " can't be cast to the desired output type ", info(self.dtype()).title);
  const Dims sizes = broadcast_shapes(self.sizes(), target.sizes());
  check(sizes == self.sizes(), kOp, ": output with shape ", self.sizes(),
        " doesn't match the broadcast shape ", sizes);
  return in_dtype(target, self.dtype());
}

}  // namespace uh

namespace uh::kernels {

Tensor mse_loss_calls(KeySet, const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduced_loss(ops::_squared_difference(self, target), reduction);
}

Tensor l1_loss(KeySet, const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduced_loss(ops::abs(minus(self, target)), reduction);
}

Tensor smooth_l1_loss_calls(KeySet, const Tensor& self, const Tensor& target, int64_t reduction,
                            double beta) {
  check_beta(beta);
  if (beta == 0) return ops::l1_loss(self, target, reduction);
  return reduced_loss(ops::_smooth_difference(self, target, beta), reduction);
}

Tensor huber_loss_calls(KeySet, const Tensor& self, const Tensor& target, int64_t reduction,
                        double delta) {
  check_delta(delta);
  return reduced_loss(ops::_huber_difference(self, target, delta), reduction);
}

Tensor binary_cross_entropy_calls(KeySet, const Tensor& self, const Tensor& target,
                                  const Tensor& weight, int64_t reduction) {
  check_probability_dtypes(self, target, weight);
  const Tensor losses = ops::_bernoulli_difference(self, target);
  return reduced_loss(weight ? ops::mul(losses, weight) : losses, reduction);
}

Tensor binary_cross_entropy_with_logits(KeySet, const Tensor& self, const Tensor& target,
                                        const Tensor& weight, const Tensor& pos_weight,
                                        int64_t reduction) {
  // PyTorch multiplies 1 - target in place: it has the sizes and the dtype of the loss.
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
  if (is_inexact(target.dtype())) losses = in_dtype(losses, target.dtype());
  return reduced_loss(losses, reduction);
}

Tensor soft_margin_loss_calls(KeySet, const Tensor& self, const Tensor& target,
                              int64_t reduction) {
  const Tensor converted = soft_margin_target(self, target);
  return reduced_loss(ops::_soft_margin_difference(self, converted), reduction);
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
    ops::add_(losses, ops::where(ops::le(target, Scalar(1)), Scalar(0), stirling), Scalar(1));
  }
  return reduced_loss(losses, reduction);
}

}  // namespace uh::kernels
