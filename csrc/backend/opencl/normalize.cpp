// Layer, group, batch and RMS normalisation are one computation on four dimensions: samples,
// groups, channels of a group, area. They differ in the dimensions over which statistics are taken.
#include "backend/opencl/normalize.h"

#include "backend/opencl/copy.h"
#include "backend/opencl/elementwise.h"
#include "backend/opencl/host.h"
#include "backend/opencl/reduce.h"
#include "generated/structured/normalize.h"

namespace uh::opencl {
namespace {

struct NormalizedSpace {
  Dims sizes;       // samples, groups, channels, area
  Dims statistics;  // the dimensions that have one mean and variance
  Dims parameters;  // the dimensions that a weight does not depend on

  int64_t size(size_t d) const { return sizes[d]; }
  int64_t folded() const {
    int64_t n = 1;
    for (const int64_t d : statistics) n *= size(static_cast<size_t>(d));
    return n;
  }
};

NormalizedSpace rows_of(int64_t n, int64_t numel) {
  return {{numel / std::max<int64_t>(1, n), 1, n, 1}, {2, 3}, {0, 3}};
}
NormalizedSpace groups_of_channels(int64_t samples, int64_t channels, int64_t area,
                                   int64_t groups) {
  return {{samples, groups, channels / groups, area}, {2, 3}, {0, 3}};
}
NormalizedSpace channels_of(const Tensor& input) {
  const int64_t samples = input.size(0), channels = input.size(1);
  const int64_t area = input.numel() / std::max<int64_t>(1, samples * channels);
  return {{samples, 1, channels, area}, {0, 3}, {0, 3}};
}

Tensor seen_as(const Tensor& t, const Dims& sizes, const Dims& strides) {
  return alias(t, Layout{sizes, strides, t.offset()});
}

// Views a tensor as the four dimensions: it is row-major, or its channels are innermost.
Tensor in_space(const Tensor& t, const NormalizedSpace& space) {
  if (t.is_contiguous()) return seen_as(t, space.sizes, contiguous_strides(space.sizes));
  // Channels are innermost: the area is one dimension of the last one's stride.
  const int64_t channel = t.stride(1), area = t.stride(t.ndim() - 1);
  return seen_as(t, space.sizes, Dims{t.stride(0), channel * space.size(2), channel, area});
}

// Views one number per statistic as the four dimensions, to be broadcast.
Tensor statistic_in(const Tensor& t, const NormalizedSpace& space) {
  Dims sizes(space.sizes);
  for (const int64_t d : space.statistics) sizes[static_cast<size_t>(d)] = 1;
  const Tensor dense = contiguous(t);
  return seen_as(dense, sizes, contiguous_strides(sizes));
}

// One number per channel.
Tensor parameter_in(const Tensor& t, const NormalizedSpace& space) {
  const Dims sizes{1, space.size(1), space.size(2), 1};
  return seen_as(contiguous(t), sizes, contiguous_strides(sizes));
}

DType exact(const Tensor& t) {
  return device_of(t.device()).has_double ? DType::kFloat64 : DType::kFloat32;
}
DType computed(const Tensor& t) {
  return is_reduced_floating(t.dtype()) ? DType::kFloat32 : t.dtype();
}

bool normalizes(const Tensor& t) {
  return has_dtype(t.device(), t.dtype()) && is_floating(t.dtype());
}

Tensor new_statistic(const Tensor& like, const NormalizedSpace& space) {
  Dims sizes(space.sizes);
  for (const int64_t d : space.statistics) sizes[static_cast<size_t>(d)] = 1;
  return empty(sizes, exact(like), like.device());
}

struct Statistics {
  Tensor mean, variance;
};

Statistics statistics_of(const Tensor& x, const NormalizedSpace& space) {
  const Statistics s{new_statistic(x, space), new_statistic(x, space)};
  mean_and_variance(x, space.statistics, s.variance, s.mean);
  return s;
}

Tensor inverse_root(const char* name, const Tensor& variance, double eps) {
  Tensor rstd = empty(variance.sizes(), variance.dtype(), variance.device());
  map(name, "O apply(A0 variance, O eps) { return 1 / sqrt(variance + eps); }\n", rstd, {variance},
      {number_of(rstd.dtype(), eps)});
  return rstd;
}

void normalize(const char* name, const NormalizedSpace& space, const Tensor& x, const Tensor& mean,
               const Tensor& rstd, const Tensor& weight, const Tensor& bias, const Tensor& out) {
  const Tensor w = weight ? parameter_in(weight, space) : Tensor();
  const Tensor b = bias ? parameter_in(bias, space) : Tensor();
  if (w && b)
    map(name,
        "O apply(A0 x, A1 mean, A2 rstd, A3 w, A4 b) { return (x - (A0)mean) * ((A0)rstd * w) + b; "
        "}\n",
        out, {x, mean, rstd, w, b});
  else if (w)
    map(name, "O apply(A0 x, A1 mean, A2 rstd, A3 w) { return (x - (A0)mean) * ((A0)rstd * w); }\n",
        out, {x, mean, rstd, w});
  else if (b)
    map(name, "O apply(A0 x, A1 mean, A2 rstd, A3 b) { return (x - (A0)mean) * (A0)rstd + b; }\n",
        out, {x, mean, rstd, b});
  else
    map(name, "O apply(A0 x, A1 mean, A2 rstd) { return (x - (A0)mean) * (A0)rstd; }\n", out,
        {x, mean, rstd});
}

// The gradients of x, weight and bias; undefined if not needed.
struct Gradients {
  Tensor x, weight, bias;
};
// `statistics`: mean and rstd are those of x, so its gradient includes theirs.
void normalize_backward(const char* name, const NormalizedSpace& space, const Tensor& grad,
                        const Tensor& x, const Tensor& mean, const Tensor& rstd,
                        const Tensor& weight, bool statistics, const Gradients& results) {
  const DType dtype = computed(x);
  const Tensor normal = empty(space.sizes, dtype, x.device());
  if (mean)
    map(name, "O apply(A0 x, A1 mean, A2 rstd) { return (x - (O)mean) * (O)rstd; }\n", normal,
        {x, mean, rstd});
  else
    map(name, "O apply(A0 x, A1 rstd) { return x * (O)rstd; }\n", normal, {x, rstd});
  const Tensor product = empty(space.sizes, dtype, x.device());
  const char* const kMultiply = "O apply(A0 a, A1 b) { return a * b; }\n";
  if (results.weight) {
    map(name, kMultiply, product, {grad, normal});
    sum_over(product, space.parameters, parameter_in(results.weight, space));
  }
  if (results.bias) sum_over(grad, space.parameters, parameter_in(results.bias, space));
  if (!results.x) return;
  Tensor scaled = grad;
  if (weight) {
    scaled = empty(space.sizes, dtype, x.device());
    map(name, kMultiply, scaled, {grad, parameter_in(weight, space)});
  }
  const Tensor dx = in_space(results.x, space);
  if (!statistics) {
    map(name, "O apply(A0 grad, A1 rstd) { return grad * (A0)rstd; }\n", dx, {scaled, rstd});
    return;
  }
  const Tensor products = new_statistic(x, space);
  map(name, kMultiply, product, {scaled, normal});
  sum_over(product, space.statistics, products);
  const Number n = number_of(exact(x), static_cast<double>(space.folded()));
  if (mean) {
    const Tensor sums = new_statistic(x, space);
    sum_over(scaled, space.statistics, sums);
    map(name,
        "O apply(A0 grad, A1 normal, A2 rstd, A3 sum, A4 product, A3 n) {\n"
        "  return (A1)rstd * (grad - (A1)(sum / n) - normal * (A1)(product / n));\n}\n",
        dx, {scaled, normal, rstd, sums, products}, {n});
  } else {
    map(name,
        "O apply(A0 grad, A1 normal, A2 rstd, A3 product, A3 n) {\n"
        "  return (A1)rstd * (grad - normal * (A1)(product / n));\n}\n",
        dx, {scaled, normal, rstd, products}, {n});
  }
}

void store_statistic(const Tensor& result, const Tensor& statistic) {
  if (!result || result.numel() == 0) return;
  copy_elements(seen_as(result, statistic.sizes(), contiguous_strides(statistic.sizes())),
                statistic);
}

int64_t row_length(const Dims& shape) { return numel_of(shape); }

void layer_norm(const Tensor& input, const Dims& shape, const Tensor& weight, const Tensor& bias,
                double eps, const Tensor& result, const Tensor& mean_out, const Tensor& rstd_out) {
  if (!normalizes(input))
    return on_cpu(ops::native_layer_norm_op, std::tuple(result, mean_out, rstd_out), input, shape,
                  weight, bias, eps);
  if (input.numel() == 0) return;
  const NormalizedSpace space = rows_of(row_length(shape), input.numel());
  const Tensor x = in_space(contiguous(input), space);
  const Statistics s = statistics_of(x, space);
  const Tensor rstd = inverse_root("native_layer_norm", s.variance, eps);
  normalize("native_layer_norm", space, x, s.mean, rstd, weight, bias, in_space(result, space));
  store_statistic(mean_out, s.mean);
  store_statistic(rstd_out, rstd);
}

void layer_norm_backward(const Tensor& grad, const Tensor& input, const Dims& shape,
                         const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                         const Tensor& bias, const Dims& mask, const Tensor& dx, const Tensor& dw,
                         const Tensor& db) {
  if (!normalizes(input))
    return on_cpu(ops::native_layer_norm_backward_op, std::tuple(dx, dw, db), grad, input, shape,
                  mean, rstd, weight, bias, mask);
  const NormalizedSpace space = rows_of(row_length(shape), input.numel());
  if (input.numel() == 0) {
    for (const Tensor& sum : {dw, db})
      if (sum) zero(KeySet(), sum);
    return;
  }
  normalize_backward("native_layer_norm_backward", space, in_space(contiguous(grad), space),
                     in_space(contiguous(input), space), statistic_in(mean, space),
                     statistic_in(rstd, space), weight, true, {dx, dw, db});
}

void rms_norm(const Tensor& input, const Dims& shape, const Tensor& weight,
              std::optional<double> eps, const Tensor& result, const Tensor& rstd_out) {
  if (!normalizes(input))
    return on_cpu(ops::_fused_rms_norm_op, std::tuple(result, rstd_out), input, shape, weight, eps);
  if (input.numel() == 0) return;
  const NormalizedSpace space = rows_of(row_length(shape), input.numel());
  const Tensor x = in_space(contiguous(input), space);
  const Statistics s = statistics_of(x, space);
  const double floor = computed(input) == DType::kFloat64 ? std::numeric_limits<double>::epsilon()
                                                          : std::numeric_limits<float>::epsilon();
  const Tensor rstd = new_statistic(x, space);
  map("_fused_rms_norm",
      "O apply(A0 mean, A1 variance, O eps) { return 1 / sqrt(variance + mean * mean + eps); }\n",
      rstd, {s.mean, s.variance}, {number_of(rstd.dtype(), eps.value_or(floor))});
  const Tensor out = in_space(result, space);
  if (weight)
    map("_fused_rms_norm", "O apply(A0 x, A1 rstd, A2 w) { return x * ((A0)rstd * w); }\n", out,
        {x, rstd, parameter_in(weight, space)});
  else
    map("_fused_rms_norm", "O apply(A0 x, A1 rstd) { return x * (A0)rstd; }\n", out, {x, rstd});
  store_statistic(rstd_out, rstd);
}

void rms_norm_backward(const Tensor& grad, const Tensor& input, const Dims& shape,
                       const Tensor& rstd, const Tensor& weight, const Dims& mask, const Tensor& dx,
                       const Tensor& dw) {
  if (!normalizes(input))
    return on_cpu(ops::_fused_rms_norm_backward_op, std::tuple(dx, dw), grad, input, shape, rstd,
                  weight, mask);
  const NormalizedSpace space = rows_of(row_length(shape), input.numel());
  if (input.numel() == 0) {
    if (dw) zero(KeySet(), dw);
    return;
  }
  normalize_backward("_fused_rms_norm_backward", space, in_space(contiguous(grad), space),
                     in_space(contiguous(input), space), Tensor(), statistic_in(rstd, space),
                     weight, true, {dx, dw, Tensor()});
}

void group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t samples,
                int64_t channels, int64_t area, int64_t groups, double eps, const Tensor& result,
                const Tensor& mean_out, const Tensor& rstd_out) {
  if (!normalizes(input))
    return on_cpu(ops::native_group_norm_op, std::tuple(result, mean_out, rstd_out), input, weight,
                  bias, samples, channels, area, groups, eps);
  const NormalizedSpace space = groups_of_channels(samples, channels, area, groups);
  if (samples * groups == 0) return;
  if (input.numel() == 0) {  // groups of nothing
    fill(KeySet(), mean_out, 0);
    fill(KeySet(), rstd_out, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const Tensor x = in_space(contiguous(input), space);
  const Statistics s = statistics_of(x, space);
  const Tensor rstd = inverse_root("native_group_norm", s.variance, eps);
  normalize("native_group_norm", space, x, s.mean, rstd, weight, bias, in_space(result, space));
  store_statistic(mean_out, s.mean);
  store_statistic(rstd_out, rstd);
}

void group_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& mean,
                         const Tensor& rstd, const Tensor& weight, int64_t samples,
                         int64_t channels, int64_t area, int64_t groups, const Dims& mask,
                         const Tensor& dx, const Tensor& dw, const Tensor& db) {
  if (!normalizes(input))
    return on_cpu(ops::native_group_norm_backward_op, std::tuple(dx, dw, db), grad, input, mean,
                  rstd, weight, samples, channels, area, groups, mask);
  if (input.numel() == 0) {
    for (const Tensor& sum : {dw, db})
      if (sum) zero(KeySet(), sum);
    return;
  }
  const NormalizedSpace space = groups_of_channels(samples, channels, area, groups);
  normalize_backward("native_group_norm_backward", space, in_space(contiguous(grad), space),
                     in_space(contiguous(input), space), statistic_in(mean, space),
                     statistic_in(rstd, space), weight, true, {dx, dw, db});
}

// running = (1 - momentum) running + momentum now. The version does not count up, as PyTorch's does
// not.
void update(const Tensor& running, const Tensor& batch, double momentum, double factor) {
  if (!running) return;
  const Tensor batch_value = seen_as(batch, running.sizes(), contiguous_strides(running.sizes()));
  map("native_batch_norm",
      "O apply(A0 running, A1 now, A1 momentum, A1 factor) {\n"
      "  return (O)((1 - momentum) * running + momentum * now * factor);\n}\n",
      running, {running, batch_value},
      {number_of(batch_value.dtype(), momentum), number_of(batch_value.dtype(), factor)});
  record_write(running);
}

void batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                const Tensor& running_mean, const Tensor& running_var, bool training,
                double momentum, double eps, const Tensor& result, const Tensor& mean_out,
                const Tensor& rstd_out) {
  if (input.ndim() < 2) return;  // of nothing
  if (!normalizes(input) || (input.numel() == 0 && training)) {
    const Tensor host_mean = to_host(running_mean), host_var = to_host(running_var);
    on_cpu(ops::native_batch_norm_op, std::tuple(result, mean_out, rstd_out), input, weight, bias,
           host_mean, host_var, training, momentum, eps);
    if (training && running_mean) ops::copy_(running_mean, host_mean, false);
    if (training && running_var) ops::copy_(running_var, host_var, false);
    return;
  }
  if (input.numel() == 0) return;
  const NormalizedSpace space = channels_of(input);
  const Tensor x = in_space(contiguous(input), space);
  Statistics s;
  if (training) {
    s = statistics_of(x, space);
    const auto n = static_cast<double>(space.folded());
    update(running_mean, s.mean, momentum, 1);
    update(running_var, s.variance, momentum, n / (n - 1));
  } else {
    s = {statistic_in(contiguous(running_mean, exact(x)), space),
         statistic_in(contiguous(running_var, exact(x)), space)};
  }
  const Tensor rstd = inverse_root("native_batch_norm", s.variance, eps);
  normalize("native_batch_norm", space, x, s.mean, rstd, weight, bias, in_space(result, space));
  if (!training) return;
  store_statistic(mean_out, s.mean);
  store_statistic(rstd_out, rstd);
}

void batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                         const Tensor& running_mean, const Tensor& running_var,
                         const Tensor& save_mean, const Tensor& save_invstd, bool train, double eps,
                         const Dims& mask, const Tensor& dx, const Tensor& dw, const Tensor& db) {
  if (!normalizes(input))
    return on_cpu(ops::native_batch_norm_backward_op, std::tuple(dx, dw, db), grad, input, weight,
                  running_mean, running_var, save_mean, save_invstd, train, eps, mask);
  if (input.numel() == 0) {
    for (const Tensor& sum : {dw, db})
      if (sum) zero(KeySet(), sum);
    return;
  }
  const NormalizedSpace space = channels_of(input);
  const Tensor mean = statistic_in(train ? save_mean : running_mean, space);
  const Tensor rstd =
      train ? statistic_in(save_invstd, space)
            : inverse_root("native_batch_norm_backward",
                           statistic_in(contiguous(running_var, exact(input)), space), eps);
  normalize_backward("native_batch_norm_backward", space, in_space(contiguous(grad), space),
                     in_space(contiguous(input), space), mean, rstd, weight, train, {dx, dw, db});
}

}  // namespace

void register_normalize() {
  constexpr Key kKey = Key::kOpenCL;
  structured::register_native_layer_norm<layer_norm>(kKey, "opencl native_layer_norm");
  structured::register_native_layer_norm_backward<layer_norm_backward>(
      kKey, "opencl native_layer_norm_backward");
  structured::register__fused_rms_norm<rms_norm>(kKey, "opencl _fused_rms_norm");
  structured::register__fused_rms_norm_backward<rms_norm_backward>(
      kKey, "opencl _fused_rms_norm_backward");
  structured::register_native_group_norm<group_norm>(kKey, "opencl native_group_norm");
  structured::register_native_group_norm_backward<group_norm_backward>(
      kKey, "opencl native_group_norm_backward");
  structured::register_native_batch_norm<batch_norm>(kKey, "opencl native_batch_norm");
  structured::register_native_batch_norm_backward<batch_norm_backward>(
      kKey, "opencl native_batch_norm_backward");
}

}  // namespace uh::opencl
