// group_norm: every group of channels of every sample by its own statistics.
#include <cmath>
#include <vector>

#include "backend/cpu/normalize/common.h"
#include "backend/cpu/normalize_loops.h"
#include "base/parallel.h"
#include "generated/kernels/normalize.h"
#include "generated/ops/normalize.h"

namespace uh::kernels {
namespace {

constexpr int64_t kGrainSize = 1 << 14;  // elements a thread should have at least

void check_channels(const Tensor& parameter, int64_t channels, const char* parameter_name) {
  check(!parameter || (parameter.ndim() == 1 && parameter.numel() == channels),
        "group_norm: Expected ", parameter_name,
        " to be a vector of size equal to the number of channels in input, but got ",
        parameter_name, " of shape ", parameter ? parameter.sizes() : Dims(), " and ", channels,
        " channels");
}

void check_groups(int64_t channels, int64_t groups) {
  check(groups > 0, "group_norm: Expected num groups to be greater than 0, got ", groups);
  check(channels % groups == 0,
        "group_norm: Expected number of channels in input to be divisible by num_groups, but got ",
        channels, " channels and num_groups=", groups);
}

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

std::tuple<Tensor, Tensor, Tensor> native_group_norm(KeySet, const Tensor& input,
                                                     const Tensor& weight, const Tensor& bias,
                                                     int64_t N, int64_t C, int64_t HxW,
                                                     int64_t group, double eps) {
  check_groups(C, group);
  check_channels(weight, C, "weight");
  check_channels(bias, C, "bias");
  check(N >= 0 && HxW >= 0 && checked_numel(Dims{N, C, HxW}, "group_norm") == input.numel(),
        "group_norm: N, C, HxW = ", N, ", ", C, ", ", HxW, " do not fit an input of sizes ",
        input.sizes());
  const NormalizeInput in = prepare_normalize(input, weight, bias, "GroupNormKernelImpl");
  Tensor mean = empty(Dims{N, group}, in.compute, input.device());
  Tensor rstd = empty(Dims{N, group}, in.compute, input.device());
  Tensor out = contiguous_like(input, in.compute);
  if (!input.is_meta()) {
    const NormalizeLoops& loops = normalize_loops().of[static_cast<int>(in.compute)];
    const int64_t item = itemsize(in.compute), channels = C / group, n = channels * HxW;
    const int64_t grain = std::max<int64_t>(1, kGrainSize / std::max<int64_t>(1, n));
    parallel_for(0, N * group, grain, [&](int64_t lo, int64_t hi) {
      for (int64_t row = lo; row < hi; ++row) {
        Moments acc{0, 0, 0};
        loops.moments(&acc, in.x.data() + row * n * item, n);
        const double factor = 1 / std::sqrt(acc.squares / static_cast<double>(n) + eps);
        put(mean, in.compute, row, acc.mean);
        put(rstd, in.compute, row, factor);
        for (int64_t c = 0; c < channels; ++c) {
          const int64_t channel = row % group * channels + c, start = row * n + c * HxW;
          const double scale = in.weight ? factor * at(in.weight, in.compute, channel) : factor;
          const double shift = in.bias ? at(in.bias, in.compute, channel) : 0;
          loops.segment(out.data() + start * item, in.x.data() + start * item, HxW, acc.mean, scale,
                        shift);
        }
      }
    });
  }
  out = like_input(out, input);
  mean = in_dtype(mean, in.statistics);
  rstd = in_dtype(rstd, in.statistics);
  for (const Tensor& t : {out, mean, rstd})
    if (!t.is_meta()) record_write(t);
  return {out, mean, rstd};
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

}  // namespace uh::kernels
