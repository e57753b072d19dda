// group_norm: each group of channels of a sample is normalised by its statistics.
#include <cmath>

#include "backend/cpu/normalize/common.h"
#include "backend/cpu/normalize_loops.h"
#include "base/parallel.h"
#include "generated/kernels/normalize.h"

namespace uh::kernels {
namespace {

double at(const Tensor& values, DType dtype, int64_t i) {
  return dtype == DType::kFloat64 ? values.data_as<double>()[i]
                                  : static_cast<double>(values.data_as<float>()[i]);
}

void put(const Tensor& values, DType dtype, int64_t i, double value) {
  if (dtype == DType::kFloat64)
    values.data_as<double>()[i] = value;
  else
    values.data_as<float>()[i] = static_cast<float>(value);
}

}  // namespace

void native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t N,
                       int64_t C, int64_t HxW, int64_t group, double eps, const Tensor& result0,
                       const Tensor& result1, const Tensor& result2) {
  const NormalizeInput in = prepare_normalize(input, weight, bias);
  const LoopOutput out(result0, in.compute), mean(result1, in.compute), rstd(result2, in.compute);
  const NormalizeLoops& loops = normalize_loops().of[static_cast<int>(in.compute)];
  const int64_t item = itemsize(in.compute), channels = C / group, n = channels * HxW;
  const int64_t grain = std::max<int64_t>(1, kNormalizeGrainSize / std::max<int64_t>(1, n));
  parallel_for(0, N * group, grain, [&](int64_t lo, int64_t hi) {
    for (int64_t row = lo; row < hi; ++row) {
      Moments acc{0, 0, 0};
      loops.moments(&acc, in.x.data() + row * n * item, n);
      const double factor = 1 / std::sqrt(acc.squares / static_cast<double>(n) + eps);
      put(mean.tensor(), in.compute, row, acc.mean);
      put(rstd.tensor(), in.compute, row, factor);
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t channel = row % group * channels + c, start = row * n + c * HxW;
        const double scale = in.weight ? factor * at(in.weight, in.compute, channel) : factor;
        const double shift = in.bias ? at(in.bias, in.compute, channel) : 0;
        loops.segment(out.data() + start * item, in.x.data() + start * item, HxW, acc.mean, scale,
                      shift);
      }
    }
  });
  for (const LoopOutput& output : {out, mean, rstd}) output.store();
}

}  // namespace uh::kernels
