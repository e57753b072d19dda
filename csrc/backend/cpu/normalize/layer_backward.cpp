// Gradients of layer_norm and rms_norm: rows separately, the parameters' summed over the rows.
#include <algorithm>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/normalize/common.h"
#include "backend/cpu/normalize_backward_loops.h"
#include "backend/cpu/reduce/reducer.h"
#include "base/parallel.h"
#include "generated/kernels/normalize.h"
#include "ops/normalize/shapes.h"

namespace uh::kernels {
namespace {

// Splits the rows into a number of parts that does not depend on the threads; each part sums the
// parameters' gradients, and these sums are added in order.
void row_gradients(const Tensor& grad_out, const Tensor& input, const Dims& shape,
                   const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                   const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias) {
  const DType compute = statistics_dtype(input.dtype());
  const int64_t n = numel_of(shape), rows = rstd.numel(), item = itemsize(compute);
  const LoopOutput dx(grad_input, compute), dweight(grad_weight, compute),
      dbias(grad_bias, compute);
  const Tensor grad = as_contiguous(grad_out, compute), x = as_contiguous(input, compute);
  const Tensor m = mean ? as_contiguous(mean, compute) : mean;
  const Tensor r = as_contiguous(rstd, compute);
  const Tensor w = weight ? as_contiguous(weight, compute) : weight;
  const bool sums = dweight.tensor() || dbias.tensor();
  const int64_t parts = std::clamp<int64_t>(rows * n >> 16, 1, 16);
  const Tensor partial_sums = sums ? empty(Dims{parts, 2, n}, compute) : Tensor();
  if (sums) fill_elements(partial_sums, ElementBytes{});
  const auto layer = normalize_backward_loops().of[static_cast<int>(compute)].layer;
  parallel_for(0, parts, 1, [&](int64_t lo, int64_t hi) {
    for (int64_t part = lo; part < hi; ++part) {
      const int64_t from = rows * part / parts, to = rows * (part + 1) / parts;
      const auto at = [&](const Tensor& t, int64_t step) -> std::byte* {
        return t ? t.data() + from * step * item : nullptr;
      };
      std::byte* own = sums ? partial_sums.data() + part * 2 * n * item : nullptr;
      layer(at(dx.tensor(), n), dweight.tensor() ? own : nullptr,
            dbias.tensor() ? own + n * item : nullptr, at(grad, n), at(x, n), at(m, 1), at(r, 1),
            data_or_null(w), to - from, n);
    }
  });
  const auto total = [&](const Tensor& to, int64_t which) {
    const auto add = [&](auto zero) {
      using T = decltype(zero);
      T* out = to.data_as<T>();
      std::copy_n(partial_sums.data_as<T>() + which * n, n, out);
      for (int64_t part = 1; part < parts; ++part) {
        const T* more = partial_sums.data_as<T>() + (part * 2 + which) * n;
        for (int64_t i = 0; i < n; ++i) out[i] += more[i];
      }
    };
    compute == DType::kFloat32 ? add(float{}) : add(double{});
  };
  if (dweight.tensor()) total(dweight.tensor(), 0);
  if (dbias.tensor()) total(dbias.tensor(), 1);
  for (const LoopOutput& output : {dx, dweight, dbias}) output.store();
}

}  // namespace

void native_layer_norm_backward(const Tensor& grad_out, const Tensor& input,
                                const Dims& normalized_shape, const Tensor& mean,
                                const Tensor& rstd, const Tensor& weight, const Tensor&,
                                const Dims&, const Tensor& result0, const Tensor& result1,
                                const Tensor& result2) {
  row_gradients(grad_out, input, normalized_shape, mean, rstd, weight, result0, result1, result2);
}

void fused_rms_norm_backward(const Tensor& grad_out, const Tensor& input,
                             const Dims& normalized_shape, const Tensor& rstd, const Tensor& weight,
                             const Dims&, const Tensor& result0, const Tensor& result1) {
  row_gradients(grad_out, input, normalized_shape, Tensor(), rstd, weight, result0, result1,
                Tensor());
}

}  // namespace uh::kernels
