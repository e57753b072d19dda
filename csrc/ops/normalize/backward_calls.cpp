// Differentiable gradients of normalisations, composed of other operators.
//
// Here the statistics are functions of the input; the saved mean and 1 / sqrt(variance + eps) are
// their values.
#include "generated/kernels/normalize.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/copy.h"
#include "generated/ops/reduce.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"

namespace uh::kernels {
namespace {

Tensor mean_of(const Tensor& t, const Dims& dims) {
  return ops::mean(t, dims, true, DType::kUndefined);
}
Tensor minus(const Tensor& a, const Tensor& b) { return ops::sub(a, b, Scalar(1)); }

struct Normalized {
  Tensor xhat, rstd;
};

// Returns xhat = (x - mean) * rstd with both as functions of x. `rstd` is the saved value; eps
// follows from it as 1 / rstd^2 minus the variance.
Normalized normalized(const Tensor& x, const Tensor& rstd, const Dims& dims, bool centered) {
  const Tensor centre = centered ? minus(x, mean_of(x, dims)) : x;
  const Tensor variance = mean_of(ops::mul(centre, centre), dims);
  const Tensor saved = ops::pow(ops::detach(rstd), Scalar(-2));
  const Tensor current_variance =
      ops::add(minus(variance, ops::detach(variance)), saved, Scalar(1));
  const Tensor scale = ops::rsqrt(current_variance);
  return {ops::mul(centre, scale), scale};
}

// rstd * (h - mean(h) - xhat * mean(h * xhat))
Tensor input_gradient(const Tensor& h, const Normalized& n, const Dims& dims, bool centered) {
  const Tensor along = ops::mul(n.xhat, mean_of(ops::mul(h, n.xhat), dims));
  const Tensor remainder = minus(h, along);
  return ops::mul(n.rstd, centered ? minus(remainder, mean_of(h, dims)) : remainder);
}

Tensor sum_to(const Tensor& t, const Dims& sizes, const Dims& dims) {
  return ops::reshape(dims.empty() ? t : ops::sum(t, dims, false, DType::kUndefined), sizes);
}

Dims range(int64_t from, int64_t to) {
  Dims dims;
  for (int64_t d = from; d < to; ++d) dims.push_back(d);
  return dims;
}

// Reshapes one number per channel to broadcast to (N, C, ...).
Tensor across(const Tensor& channels, const Tensor& like) {
  Dims sizes(like.sizes().size(), 1);
  sizes[1] = like.size(1);
  return ops::reshape(channels, sizes);
}

void check_mask(const Dims& mask, size_t n, const Tensor& grad_out, const Tensor& input,
                std::string_view op) {
  check(mask.size() == n && grad_out.sizes() == input.sizes(), op, ": grad_out of sizes ",
        grad_out.sizes(), ", input of ", input.sizes(), " and a mask of ", mask.size(),
        " do not belong together");
}

Dims all_but_channels(const Tensor& t) {
  Dims dims{0};
  for (int64_t d = 2; d < t.ndim(); ++d) dims.push_back(d);
  return dims;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> layer_norm_backward_calls(
    KeySet, const Tensor& grad_out, const Tensor& input, const Dims& normalized_shape,
    const Tensor&, const Tensor& rstd, const Tensor& weight, const Tensor& bias, const Dims& mask) {
  check_mask(mask, 3, grad_out, input, "native_layer_norm_backward");
  check(normalized_shape.ndim() <= input.ndim(), "native_layer_norm_backward: input of sizes ",
        input.sizes(), " does not end in ", normalized_shape);
  const int64_t first = input.ndim() - normalized_shape.ndim();
  const Dims inside = range(first, input.ndim()), outside = range(0, first);
  const Normalized n = normalized(input, rstd, inside, true);
  const Tensor h = weight ? ops::mul(grad_out, weight) : grad_out;
  return {
      mask[0] ? input_gradient(h, n, inside, true) : Tensor(),
      weight && mask[1] ? sum_to(ops::mul(grad_out, n.xhat), normalized_shape, outside) : Tensor(),
      bias && mask[2] ? sum_to(grad_out, normalized_shape, outside) : Tensor()};
}

std::tuple<Tensor, Tensor> rms_norm_backward_calls(KeySet, const Tensor& grad_out,
                                                   const Tensor& input,
                                                   const Dims& normalized_shape, const Tensor& rstd,
                                                   const Tensor& weight, const Dims& mask) {
  check_mask(mask, 2, grad_out, input, "_fused_rms_norm_backward");
  check(normalized_shape.ndim() <= input.ndim(), "_fused_rms_norm_backward: input of sizes ",
        input.sizes(), " does not end in ", normalized_shape);
  const int64_t first = input.ndim() - normalized_shape.ndim();
  const Dims inside = range(first, input.ndim()), outside = range(0, first);
  const Normalized n = normalized(input, rstd, inside, false);
  const Tensor h = weight ? ops::mul(grad_out, weight) : grad_out;
  return {
      mask[0] ? input_gradient(h, n, inside, false) : Tensor(),
      weight && mask[1] ? sum_to(ops::mul(grad_out, n.xhat), normalized_shape, outside) : Tensor()};
}

std::tuple<Tensor, Tensor, Tensor> group_norm_backward_calls(
    KeySet, const Tensor& grad_out, const Tensor& input, const Tensor&, const Tensor& rstd,
    const Tensor& weight, int64_t N, int64_t C, int64_t HxW, int64_t group, const Dims& mask) {
  check_mask(mask, 3, grad_out, input, "native_group_norm_backward");
  check(input.ndim() >= 2 && N >= 0 && group > 0 && C > 0 && C % group == 0 &&
            checked_numel(Dims{N, C, HxW}, "native_group_norm_backward") == input.numel(),
        "native_group_norm_backward: input of sizes ", input.sizes(), " is not N = ", N,
        ", C = ", C, ", HxW = ", HxW, " in ", group, " groups");
  const Dims groups{N, group, C / group * HxW}, inside{2};
  const Normalized n =
      normalized(ops::reshape(input, groups), ops::reshape(rstd, Dims{N, group, 1}), inside, true);
  const Tensor h = weight ? ops::mul(grad_out, across(weight, input)) : grad_out;
  const Dims outside = all_but_channels(input);
  const Tensor product = ops::mul(grad_out, ops::reshape(n.xhat, input.sizes()));
  return {mask[0] ? ops::reshape(input_gradient(ops::reshape(h, groups), n, inside, true),
                                 input.sizes())
                  : Tensor(),
          weight && mask[1] ? sum_to(product, Dims{C}, outside) : Tensor(),
          mask[2] ? sum_to(grad_out, Dims{C}, outside) : Tensor()};
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_backward_calls(
    KeySet, const Tensor& grad_out, const Tensor& input, const Tensor& weight,
    const Tensor& running_mean, const Tensor& running_var, const Tensor&, const Tensor& save_invstd,
    bool train, double eps, const Dims& mask) {
  check_mask(mask, 3, grad_out, input, "native_batch_norm_backward");
  if (input.ndim() < 2 && input.numel() == 0)  // an empty input
    return {mask[0] ? grad_out : Tensor(), Tensor(), Tensor()};
  check(input.ndim() >= 2 && (train ? static_cast<bool>(save_invstd) : running_mean && running_var),
        "native_batch_norm_backward: the statistics of an input of sizes ", input.sizes(),
        " are not defined");
  const Dims dims = all_but_channels(input), channels{input.size(1)};
  const Tensor h = weight ? ops::mul(grad_out, across(weight, input)) : grad_out;
  Normalized n;
  if (train) {
    n = normalized(input, across(save_invstd, input), dims, true);
  } else {
    n.rstd = ops::rsqrt(ops::add(across(running_var, input), Scalar(eps), Scalar(1)));
    n.xhat = ops::mul(minus(input, across(running_mean, input)), n.rstd);
  }
  Tensor dx;
  if (mask[0]) dx = train ? input_gradient(h, n, dims, true) : ops::mul(h, n.rstd);
  return {dx, weight && mask[1] ? sum_to(ops::mul(grad_out, n.xhat), channels, dims) : Tensor(),
          mask[2] ? sum_to(grad_out, channels, dims) : Tensor()};
}

}  // namespace uh::kernels
