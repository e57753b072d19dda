// batch_norm and instance_norm: every channel by statistics over the batch, or by running ones.
#include <cmath>
#include <vector>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/normalize/common.h"
#include "backend/cpu/normalize_loops.h"
#include "backend/cpu/reduce/reducer.h"
#include "base/parallel.h"
#include "generated/kernels/normalize.h"
#include "generated/ops/copy.h"
#include "generated/ops/join.h"
#include "generated/ops/normalize.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"
#include "ops/copy/write_out.h"

namespace uh::kernels {
namespace {

constexpr int64_t kGrainSize = 1 << 14;  // elements a thread should have at least

using Numbers = std::vector<double>;

// One number per channel, as doubles.
Numbers numbers_of(const Tensor& t, double otherwise, int64_t channels) {
  if (!t) return Numbers(static_cast<size_t>(channels), otherwise);
  Numbers out(static_cast<size_t>(channels));
  const Tensor dense = as_contiguous(t, DType::kFloat64);
  std::copy_n(dense.data_as<double>(), channels, out.begin());
  return out;
}

Tensor tensor_of(const Numbers& numbers, DType dtype, Device device) {
  Tensor out = empty(Dims{static_cast<int64_t>(numbers.size())}, dtype, device);
  cast_run(out.data(), dtype, numbers.data(), DType::kFloat64, out.numel());
  return out;
}

struct Channels {
  int64_t samples = 1, count = 1, area = 1;

  explicit Channels(const Tensor& input) {
    samples = input.size(0);
    count = input.size(1);
    for (int64_t d = 2; d < input.ndim(); ++d) area *= input.size(d);
  }
};

// Mean and variance (of the elements there are) of every channel.
void statistics(const Tensor& input, Numbers& mean, Numbers& variance) {
  const auto channels = static_cast<int64_t>(mean.size());
  Dims dims;
  for (int64_t d = 0; d < input.ndim(); ++d)
    if (d != 1) dims.push_back(d);
  const Tensor means = empty(Dims{channels}, DType::kFloat64);
  const Tensor squares = empty(Dims{channels}, DType::kFloat64);
  const auto take_mean = [](void* values, const std::byte* acc, int64_t n, double) {
    const auto* parts = reinterpret_cast<const Moments*>(acc);
    for (int64_t i = 0; i < n; ++i) static_cast<double*>(values)[i] = parts[i].mean;
  };
  const auto take_variance = [](void* values, const std::byte* acc, int64_t n, double) {
    const auto* parts = reinterpret_cast<const Moments*>(acc);
    for (int64_t i = 0; i < n; ++i)
      static_cast<double*>(values)[i] = parts[i].squares / parts[i].count;
  };
  fold_into({{means, take_mean}, {squares, take_variance}}, input,
            ReducedDims(input, dims, "batch_norm"), FoldOp::kMoments, input.dtype(),
            sum_compute_dtype(input.dtype()));
  std::copy_n(means.data_as<double>(), channels, mean.begin());
  std::copy_n(squares.data_as<double>(), channels, variance.begin());
}

// running = (1 - momentum) running + momentum now. The version does not count up, as PyTorch's does
// not: a graph that keeps the statistics for evaluation outlives the next step of training.
void update(const Tensor& running, const Numbers& batch, double momentum) {
  if (!running) return;
  Numbers next = numbers_of(running, 0, running.numel());
  for (size_t c = 0; c < next.size(); ++c) next[c] = (1 - momentum) * next[c] + momentum * batch[c];
  copy_elements(running, tensor_of(next, running.dtype(), running.device()));
  record_write(running);
}

void check_channels(const Tensor& parameter, int64_t channels, const char* parameter_name) {
  check(!parameter || parameter.numel() == channels, "batch_norm: ", parameter_name,
        " should contain ", channels, " elements not ", parameter ? parameter.numel() : 0);
}

void apply(const Tensor& out, const Tensor& x, DType compute, const Channels& size,
           const Numbers& mean, const Numbers& scale, const Numbers& shift) {
  const NormalizeLoops& loops = normalize_loops().of[static_cast<int>(compute)];
  const int64_t item = itemsize(compute);
  if (size.area == 1) {  // channels are adjacent
    const Tensor m = tensor_of(mean, compute, x.device()),
                 s = tensor_of(scale, compute, x.device());
    const Tensor b = tensor_of(shift, compute, x.device());
    const int64_t grain = std::max<int64_t>(1, kGrainSize / std::max<int64_t>(1, size.count));
    parallel_for(0, size.samples, grain, [&](int64_t lo, int64_t hi) {
      const int64_t start = lo * size.count * item;
      loops.columns(out.data() + start, x.data() + start, m.data(), s.data(), b.data(), hi - lo,
                    size.count);
    });
    return;
  }
  const int64_t grain = std::max<int64_t>(1, kGrainSize / std::max<int64_t>(1, size.area));
  parallel_for(0, size.samples * size.count, grain, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      const auto c = static_cast<size_t>(i % size.count);
      const int64_t start = i * size.area * item;
      loops.segment(out.data() + start, x.data() + start, size.area, mean[c], scale[c], shift[c]);
    }
  });
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_batch_norm(KeySet, const Tensor& input,
                                                     const Tensor& weight, const Tensor& bias,
                                                     const Tensor& running_mean,
                                                     const Tensor& running_var, bool training,
                                                     double momentum, double eps) {
  if (input.ndim() < 2 && input.numel() == 0) {
    const Tensor none = empty(Dims{0}, input.dtype(), input.device());
    return {contiguous_like(input, input.dtype()), none, contiguous_like(none, none.dtype())};
  }
  check(input.ndim() >= 2, "batch_norm: expected an input of at least 2 dimensions, got ",
        input.ndim());
  check_parameter_dtypes(input, {weight, bias, running_mean, running_var}, "batch_norm");
  const Channels size(input);
  check(training || (running_mean && running_var),
        "batch_norm: ", running_mean ? "running_var" : "running_mean",
        " must be defined in evaluation mode");
  check_channels(running_mean, size.count, "running_mean");
  check_channels(running_var, size.count, "running_var");
  check_channels(weight, size.count, "weight");
  check_channels(bias, size.count, "bias");
  const DType compute = sum_compute_dtype(input.dtype());
  DType original_dtype = input.dtype();
  for (const Tensor& parameter : {weight, bias, running_mean, running_var})
    if (parameter) original_dtype = parameter.dtype();
  const Dims saved_sizes{training ? size.count : 0};
  if (input.is_meta()) {
    return {like_input(contiguous_like(input, compute), input),
            empty(saved_sizes, original_dtype, input.device()),
            empty(saved_sizes, original_dtype, input.device())};
  }
  const auto channels = static_cast<size_t>(size.count);
  Numbers mean(channels), variance(channels), factor(channels);
  if (training && input.numel() > 0) {
    statistics(input, mean, variance);
    const double n = static_cast<double>(size.samples * size.area);
    Numbers unbiased = variance;
    for (double& v : unbiased) v *= n / (n - 1);
    update(running_mean, mean, momentum);
    update(running_var, unbiased, momentum);
  } else if (!training) {
    mean = numbers_of(running_mean, 0, size.count);
    variance = numbers_of(running_var, 1, size.count);
  }
  Numbers scale = numbers_of(weight, 1, size.count);
  for (size_t c = 0; c < channels; ++c) {
    factor[c] = 1 / std::sqrt(variance[c] + eps);
    scale[c] *= factor[c];
  }
  Tensor out = contiguous_like(input, compute);
  if (input.numel() > 0) {
    apply(out, as_contiguous(input, compute), compute, size, mean, scale,
          numbers_of(bias, 0, size.count));
  }
  out = like_input(out, input);
  record_write(out);
  if (!training) {
    return {out, empty(saved_sizes, original_dtype, input.device()),
            empty(saved_sizes, original_dtype, input.device())};
  }
  return {out, tensor_of(mean, original_dtype, input.device()),
          tensor_of(factor, original_dtype, input.device())};
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
  // Every sample gets separate channels.
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
