// batch_norm: each channel is normalised by statistics of the batch, or by running ones.
#include <cmath>
#include <vector>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/normalize/common.h"
#include "backend/cpu/normalize_loops.h"
#include "backend/cpu/reduce/reducer.h"
#include "base/parallel.h"
#include "generated/kernels/normalize.h"
#include "ops/normalize/shapes.h"

namespace uh::kernels {
namespace {

Tensor tensor_of(const Numbers& numbers, DType dtype) {
  const Tensor out = empty(Dims{static_cast<int64_t>(numbers.size())}, dtype);
  store_numbers(out, numbers);
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

// Computes the mean and (biased) variance of each channel.
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

// running = (1 - momentum) running + momentum batch. As in PyTorch, the version is not bumped: a
// graph that saved the statistics for evaluation stays valid after the next training step.
void update(const Tensor& running, const Numbers& batch, double momentum) {
  if (!running) return;
  Numbers next = numbers_of(running, 0, running.numel());
  for (size_t c = 0; c < next.size(); ++c) next[c] = (1 - momentum) * next[c] + momentum * batch[c];
  copy_elements(running, tensor_of(next, running.dtype()));
  record_write(running);
}

void apply(const LoopOutput& out, const Tensor& x, DType compute, const Channels& size,
           const Numbers& mean, const Numbers& scale, const Numbers& shift) {
  const NormalizeLoops& loops = normalize_loops().of[static_cast<int>(compute)];
  const int64_t item = itemsize(compute);
  if (size.area == 1) {  // channels are adjacent
    const Tensor m = tensor_of(mean, compute), s = tensor_of(scale, compute);
    const Tensor b = tensor_of(shift, compute);
    const int64_t grain =
        std::max<int64_t>(1, kNormalizeGrainSize / std::max<int64_t>(1, size.count));
    parallel_for(0, size.samples, grain, [&](int64_t lo, int64_t hi) {
      const int64_t start = lo * size.count * item;
      loops.columns(out.data() + start, x.data() + start, m.data(), s.data(), b.data(), hi - lo,
                    size.count);
    });
    return;
  }
  const int64_t grain = std::max<int64_t>(1, kNormalizeGrainSize / std::max<int64_t>(1, size.area));
  parallel_for(0, size.samples * size.count, grain, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      const auto c = static_cast<size_t>(i % size.count);
      const int64_t start = i * size.area * item;
      loops.segment(out.data() + start, x.data() + start, size.area, mean[c], scale[c], shift[c]);
    }
  });
}

}  // namespace

void native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                       const Tensor& running_mean, const Tensor& running_var, bool training,
                       double momentum, double eps, const Tensor& result0, const Tensor& result1,
                       const Tensor& result2) {
  if (input.ndim() < 2) return;  // empty input
  const Channels size(input);
  const DType compute = statistics_dtype(input.dtype());
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
  if (input.numel() > 0) {
    const LoopOutput out(result0, compute);
    apply(out, as_contiguous(input, compute), compute, size, mean, scale,
          numbers_of(bias, 0, size.count));
    out.store();
  }
  if (!training) return;
  store_numbers(result1, mean);
  store_numbers(result2, factor);
}

}  // namespace uh::kernels
