// Losses fused with their reduction.
#include <cmath>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/loss/pointwise_loss.h"
#include "generated/kernels/loss.h"
#include "generated/ops/arithmetic.h"
#include "generated/pointwise/loss.h"
#include "ops/loss/arguments.h"

namespace uh::kernels {
namespace {

template <class... Numbers>
Tensor of_two(const PointwiseOp& op, const Tensor& self, const Tensor& target, int64_t reduction,
              Numbers... numbers) {
  const Input inputs[] = {self, target};
  return pointwise_loss(op, inputs, Params{Scalar(numbers)...}, reduction);
}

// Throws for the first element outside [0, 1].
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

Tensor smooth_l1_loss(KeySet keys, const Tensor& self, const Tensor& target, int64_t reduction,
                      double beta) {
  check_beta(beta);
  if (beta == 0) return l1_loss(keys, self, target, reduction);
  return of_two(k__smooth_difference, self, target, reduction, beta);
}

Tensor huber_loss(KeySet, const Tensor& self, const Tensor& target, int64_t reduction,
                  double delta) {
  check_delta(delta);
  return of_two(k__huber_difference, self, target, reduction, delta);
}

Tensor binary_cross_entropy(KeySet, const Tensor& self, const Tensor& target, const Tensor& weight,
                            int64_t reduction) {
  check_probability_dtypes(self, target, weight);
  const Tensor losses = of_two(k__bernoulli_difference, self, target, weight ? 0 : reduction);
  if (!losses.is_meta() && losses.numel() > 0) {
    const Tensor sum = ops::sum(losses, std::nullopt, false, DType::kUndefined);
    if (std::isnan(read_scalar(sum).to_double())) check_probabilities(self);
  }
  return weight ? reduced_loss(ops::mul(losses, weight), reduction) : losses;
}

Tensor soft_margin_loss(KeySet, const Tensor& self, const Tensor& target, int64_t reduction) {
  return of_two(k__soft_margin_difference, self, soft_margin_target(self, target), reduction);
}

}  // namespace uh::kernels
