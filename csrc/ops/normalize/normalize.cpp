// The composites of normalize.yaml.
#include <limits>

#include "generated/kernels/normalize.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/copy.h"
#include "generated/ops/join.h"
#include "generated/ops/normalize.h"
#include "generated/ops/reduce.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"
#include "ops/copy/in_dtype.h"
#include "ops/copy/write_out.h"
#include "ops/normalize/shapes.h"

namespace uh::kernels {
Tensor layer_norm(KeySet, const Tensor& input, const Dims& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps, bool) {
  return std::get<0>(ops::native_layer_norm(input, normalized_shape, weight, bias, eps));
}

Tensor rms_norm(KeySet, const Tensor& input, const Dims& normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  check_kind(input.ndim() >= normalized_shape.ndim(), ErrorKind::kValue,
             "rms_norm: Input tensor must have at least ", normalized_shape.ndim(),
             " dimensions, but got ", input.ndim());
  const bool fused = is_floating(input.dtype()) && (!weight || weight.dtype() == input.dtype());
  if (fused) return std::get<0>(ops::_fused_rms_norm(input, normalized_shape, weight, eps));
  check_kind(is_inexact(input.dtype()), ErrorKind::kNotImplemented,
             "\"rms_norm\" not implemented for '", info(input.dtype()).title, "'");
  // Composed of operators for complex numbers, or a weight of another dtype.
  normalized_rows(input, normalized_shape, weight, Tensor(), "rms_norm");
  Dims last;
  for (int64_t d = -normalized_shape.ndim(); d < 0; ++d) last.push_back(d);
  const bool wide = to_real(input.dtype()) == DType::kFloat64;
  const double floor =
      wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  const DType compute = is_reduced_floating(input.dtype()) ? DType::kFloat32 : input.dtype();
  const Tensor x = in_dtype(input, compute);
  const Tensor mean = ops::mean(ops::mul(x, x), last, true, DType::kUndefined);
  const Tensor scale = ops::rsqrt(ops::add(mean, Scalar(eps.value_or(floor)), Scalar(1)));
  const Tensor result = ops::mul(x, scale);
  return in_dtype(weight ? ops::mul(result, weight) : result, input.dtype());
}

Tensor group_norm(KeySet, const Tensor& input, int64_t num_groups, const Tensor& weight,
                  const Tensor& bias, double eps, bool) {
  check_kind(input.ndim() >= 2, ErrorKind::kIndex, "group_norm: dimension out of range: the input ",
             "needs at least 2 dimensions, got ", input.ndim());
  const int64_t samples = input.size(0), channels = input.size(1);
  check_groups(channels, num_groups);
  int64_t area = 1;
  for (int64_t d = 2; d < input.ndim(); ++d) area *= input.size(d);
  return std::get<0>(
      ops::native_group_norm(input, weight, bias, samples, channels, area, num_groups, eps));
}

void native_batch_norm_out(KeySet, const Tensor& input, const Tensor& weight, const Tensor& bias,
                           const Tensor& running_mean, const Tensor& running_var, bool training,
                           double momentum, double eps, const Tensor& out, const Tensor& save_mean,
                           const Tensor& save_invstd) {
  const auto [output, mean, factor] = ops::native_batch_norm(input, weight, bias, running_mean,
                                                             running_var, training, momentum, eps);
  write_exact_out(out, output, "native_batch_norm");
  write_exact_out(save_mean, mean, "native_batch_norm");
  write_exact_out(save_invstd, factor, "native_batch_norm");
}

Tensor batch_norm(KeySet, const Tensor& input, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_var, bool training,
                  double momentum, double eps, bool) {
  check_kind(!running_mean == !running_var, ErrorKind::kValue,
             "batch_norm: running_mean and running_var must either both be None or neither be None");
  return std::get<0>(ops::native_batch_norm(input, weight, bias, running_mean, running_var,
                                            training, momentum, eps));
}

Tensor instance_norm(KeySet, const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Tensor& running_mean, const Tensor& running_var, bool use_input_stats,
                     double momentum, double eps, bool) {
  check(use_input_stats || (running_mean && running_var),
        "instance_norm: Expected running_mean and running_var to be defined when use_input_stats "
        "is false");
  check(input.ndim() >= 2, "instance_norm: expected an input of at least 2 dimensions, got ",
        input.ndim());
  // Treats the channels of every sample as separate channels.
  const int64_t samples = input.size(0), channels = input.size(1);
  Dims sizes = input.sizes();
  sizes[0] = 1;
  sizes[1] = samples * channels;
  const auto repeated = [&](const Tensor& t) { return t ? ops::repeat(t, Dims{samples}) : t; };
  const Tensor means = repeated(running_mean), variances = repeated(running_var);
  const Tensor apart = ops::reshape(ops::contiguous(input, MemoryFormat::kContiguous), sizes);
  const Tensor out = ops::batch_norm(apart, repeated(weight), repeated(bias), means, variances,
                                     use_input_stats, momentum, eps, false);
  const auto average = [&](const Tensor& target, const Tensor& each) {
    if (!target || samples == 0) return;
    const Tensor table = ops::reshape(each, Dims{samples, channels});
    ops::copy_(target, ops::mean(table, Dims{0}, false, DType::kUndefined), false);
  };
  average(running_mean, means);
  average(running_var, variances);
  return ops::reshape(out, input.sizes());
}

}  // namespace uh::kernels
