// layer_norm and rms_norm: each row is normalised by its statistics.
#include <limits>

#include "backend/cpu/normalize/common.h"
#include "backend/cpu/normalize_loops.h"
#include "base/parallel.h"
#include "generated/kernels/normalize.h"
#include "ops/normalize/shapes.h"

namespace uh::kernels {
void native_layer_norm(const Tensor& input, const Dims& normalized_shape, const Tensor& weight,
                       const Tensor& bias, double eps, const Tensor& result0, const Tensor& result1,
                       const Tensor& result2) {
  const NormalizedRows rows = normalized_rows(input, normalized_shape, weight, bias, "layer_norm");
  const NormalizeInput in = prepare_normalize(input, weight, bias);
  const LoopOutput out(result0, in.compute), mean(result1, in.compute), rstd(result2, in.compute);
  const auto layer = normalize_loops().of[static_cast<int>(in.compute)].layer;
  const int64_t item = itemsize(in.compute);
  const int64_t grain = std::max<int64_t>(1, kNormalizeGrainSize / std::max<int64_t>(1, rows.n));
  parallel_for(0, rows.count, grain, [&](int64_t lo, int64_t hi) {
    layer(out.data() + lo * rows.n * item, mean.data() + lo * item, rstd.data() + lo * item,
          in.x.data() + lo * rows.n * item, data_or_null(in.weight), data_or_null(in.bias), hi - lo,
          rows.n, eps);
  });
  for (const LoopOutput& output : {out, mean, rstd}) output.store();
}

void fused_rms_norm(const Tensor& input, const Dims& normalized_shape, const Tensor& weight,
                    std::optional<double> eps, const Tensor& result0, const Tensor& result1) {
  const NormalizedRows rows =
      normalized_rows(input, normalized_shape, weight, Tensor(), "rms_norm");
  const NormalizeInput in = prepare_normalize(input, weight, Tensor());
  const double floor = in.compute == DType::kFloat64 ? std::numeric_limits<double>::epsilon()
                                                     : std::numeric_limits<float>::epsilon();
  const LoopOutput out(result0, in.compute), rstd(result1, in.compute);
  const auto rms = normalize_loops().of[static_cast<int>(in.compute)].rms;
  const int64_t item = itemsize(in.compute);
  const int64_t grain = std::max<int64_t>(1, kNormalizeGrainSize / std::max<int64_t>(1, rows.n));
  parallel_for(0, rows.count, grain, [&](int64_t lo, int64_t hi) {
    rms(out.data() + lo * rows.n * item, rstd.data() + lo * item, in.x.data() + lo * rows.n * item,
        data_or_null(in.weight), hi - lo, rows.n, eps.value_or(floor));
  });
  for (const LoopOutput& output : {out, rstd}) output.store();
}

}  // namespace uh::kernels
