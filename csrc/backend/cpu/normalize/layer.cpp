// layer_norm and rms_norm: every row by its own statistics.
#include <limits>

#include "backend/cpu/normalize/common.h"
#include "backend/cpu/normalize_loops.h"
#include "base/parallel.h"
#include "generated/kernels/normalize.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/normalize.h"
#include "generated/ops/reduce.h"
#include "generated/ops/transcendental.h"

namespace uh::kernels {
namespace {

constexpr int64_t kGrainSize = 1 << 14;  // elements a thread should have at least

// The rows that the last dimensions of `input` make.
struct Rows {
  int64_t count = 1, n = 1;
  Dims statistics;  // sizes of mean and rstd
};

Rows rows_of(const Tensor& input, const Dims& shape, const Tensor& weight, const Tensor& bias,
             std::string_view op) {
  check(!shape.empty(), op, ": Expected normalized_shape to be at least 1-dimensional, i.e., ",
        "containing at least one element, but got normalized_shape = ", shape);
  const auto parameter = [&](const Tensor& p, const char* parameter_name) {
    check(!p || p.sizes() == shape, op, ": Expected ", parameter_name, " to be of same shape as ",
          "normalized_shape, but got ", parameter_name, " of shape ", p ? p.sizes() : shape,
          " and normalized_shape = ", shape);
  };
  parameter(weight, "weight");
  parameter(bias, "bias");
  const size_t first = input.sizes().size() - std::min(shape.size(), input.sizes().size());
  const IntSpan last(input.sizes().data() + first, input.sizes().size() - first);
  check(input.sizes().size() >= shape.size() && Dims(last) == shape, op,
        ": Given normalized_shape=", shape, ", expected input with shape [*, ...] ending in it, ",
        "but got input of size", input.sizes());
  Rows rows;
  for (size_t d = 0; d < input.sizes().size(); ++d) {
    (d < first ? rows.count : rows.n) *= input.sizes()[d];
    rows.statistics.push_back(d < first ? input.sizes()[d] : 1);
  }
  return rows;
}

const void* data_of(const Tensor& t) { return t ? t.data() : nullptr; }

}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_layer_norm(KeySet, const Tensor& input,
                                                     const Dims& normalized_shape,
                                                     const Tensor& weight, const Tensor& bias,
                                                     double eps) {
  const Rows rows = rows_of(input, normalized_shape, weight, bias, "layer_norm");
  const NormalizeInput in = prepare_normalize(input, weight, bias, "LayerNormKernelImpl");
  Tensor mean = empty(rows.statistics, in.compute, input.device());
  Tensor rstd = empty(rows.statistics, in.compute, input.device());
  Tensor out = contiguous_like(input, in.compute);
  if (!input.is_meta()) {
    const auto layer = normalize_loops().of[static_cast<int>(in.compute)].layer;
    const int64_t item = itemsize(in.compute);
    const int64_t grain = std::max<int64_t>(1, kGrainSize / std::max<int64_t>(1, rows.n));
    parallel_for(0, rows.count, grain, [&](int64_t lo, int64_t hi) {
      layer(out.data() + lo * rows.n * item, mean.data() + lo * item, rstd.data() + lo * item,
            in.x.data() + lo * rows.n * item, data_of(in.weight), data_of(in.bias), hi - lo, rows.n,
            eps);
    });
  }
  out = in_dtype(out, input.dtype());
  mean = in_dtype(mean, in.statistics);
  rstd = in_dtype(rstd, in.statistics);
  for (const Tensor& t : {out, mean, rstd})
    if (!t.is_meta()) record_write(t);
  return {out, mean, rstd};
}

Tensor layer_norm(KeySet, const Tensor& input, const Dims& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps, bool) {
  return std::get<0>(ops::native_layer_norm(input, normalized_shape, weight, bias, eps));
}

std::tuple<Tensor, Tensor> fused_rms_norm(KeySet, const Tensor& input, const Dims& normalized_shape,
                                          const Tensor& weight, std::optional<double> eps) {
  const Rows rows = rows_of(input, normalized_shape, weight, Tensor(), "rms_norm");
  const NormalizeInput in = prepare_normalize(input, weight, Tensor(), "rms_norm");
  const double floor = in.compute == DType::kFloat64 ? std::numeric_limits<double>::epsilon()
                                                     : std::numeric_limits<float>::epsilon();
  Tensor rstd = empty(rows.statistics, in.compute, input.device());
  Tensor out = contiguous_like(input, in.compute);
  if (!input.is_meta()) {
    const auto rms = normalize_loops().of[static_cast<int>(in.compute)].rms;
    const int64_t item = itemsize(in.compute);
    const int64_t grain = std::max<int64_t>(1, kGrainSize / std::max<int64_t>(1, rows.n));
    parallel_for(0, rows.count, grain, [&](int64_t lo, int64_t hi) {
      rms(out.data() + lo * rows.n * item, rstd.data() + lo * item,
          in.x.data() + lo * rows.n * item, data_of(in.weight), hi - lo, rows.n,
          eps.value_or(floor));
    });
  }
  out = in_dtype(out, input.dtype());
  for (const Tensor& t : {out, rstd})
    if (!t.is_meta()) record_write(t);
  return {out, rstd};
}

Tensor rms_norm(KeySet, const Tensor& input, const Dims& normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  const bool fused = is_floating(input.dtype()) && (!weight || weight.dtype() == input.dtype());
  if (fused) return std::get<0>(ops::_fused_rms_norm(input, normalized_shape, weight, eps));
  check_kind(is_inexact(input.dtype()), ErrorKind::kNotImplemented,
             "\"rms_norm\" not implemented for '", info(input.dtype()).title, "'");
  // Of complex numbers, or with a weight of another dtype: step by step.
  rows_of(input, normalized_shape, weight, Tensor(), "rms_norm");
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

}  // namespace uh::kernels
