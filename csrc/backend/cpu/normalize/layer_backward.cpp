// Gradients of layer_norm and rms_norm: every row by itself, the parameters' summed over the rows.
#include <algorithm>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/normalize/common.h"
#include "backend/cpu/normalize_backward_loops.h"
#include "backend/cpu/reduce/reducer.h"
#include "base/parallel.h"
#include "generated/kernels/normalize.h"

namespace uh::kernels {
namespace {

const void* data_of(const Tensor& t) { return t ? t.data() : nullptr; }

// Flags of the requested gradients: of input, weight and bias.
struct OutputMask {
  bool input, weight, bias;
};

void check_sizes(const Tensor& grad, const Tensor& input, const Dims& shape, const Tensor& rstd,
                 std::string_view op) {
  check(grad.sizes() == input.sizes() && numel_of(shape) * rstd.numel() == input.numel(), op,
        ": grad_out of sizes ", grad.sizes(), ", input of ", input.sizes(), " and rstd of ",
        rstd.sizes(), " do not belong together");
  check_kind(is_floating(input.dtype()), ErrorKind::kNotImplemented, "\"", op,
             "\" not implemented for '", info(input.dtype()).title, "'");
}

// The rows are cut into a number of parts that does not depend on the threads: each sums the
// parameters' gradients for itself, and the sums are added up in order.
std::tuple<Tensor, Tensor, Tensor> row_gradients(const Tensor& grad_out, const Tensor& input,
                                                 const Dims& shape, const Tensor& mean,
                                                 const Tensor& rstd, const Tensor& weight,
                                                 OutputMask mask) {
  const DType compute = sum_compute_dtype(input.dtype());
  const int64_t n = numel_of(shape), rows = rstd.numel(), item = itemsize(compute);
  Tensor dx, dweight, dbias;
  if (mask.input) dx = contiguous_like(input, compute);
  if (mask.weight) dweight = empty(shape, compute, input.device());
  if (mask.bias) dbias = empty(shape, compute, input.device());
  if (!input.is_meta()) {
    const Tensor grad = as_contiguous(grad_out, compute), x = as_contiguous(input, compute);
    const Tensor m = mean ? as_contiguous(mean, compute) : mean;
    const Tensor r = as_contiguous(rstd, compute);
    const Tensor w = weight ? as_contiguous(weight, compute) : weight;
    const bool sums = mask.weight || mask.bias;
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
        layer(at(dx, n), mask.weight ? own : nullptr, mask.bias ? own + n * item : nullptr,
              at(grad, n), at(x, n), at(m, 1), at(r, 1), data_of(w), to - from, n);
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
    if (mask.weight) total(dweight, 0);
    if (mask.bias) total(dbias, 1);
  }
  if (dx) dx = in_dtype(dx, input.dtype());
  if (dweight && weight) dweight = in_dtype(dweight, weight.dtype());
  for (const Tensor& t : {dx, dweight, dbias})
    if (t && !t.is_meta()) record_write(t);
  return {dx, dweight, dbias};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward(
    KeySet, const Tensor& grad_out, const Tensor& input, const Dims& normalized_shape,
    const Tensor& mean, const Tensor& rstd, const Tensor& weight, const Tensor& bias,
    const Dims& output_mask) {
  check(output_mask.size() == 3, "native_layer_norm_backward: output_mask needs 3 elements, got ",
        output_mask);
  check_sizes(grad_out, input, normalized_shape, rstd, "native_layer_norm_backward");
  auto [dx, dweight, dbias] = row_gradients(
      grad_out, input, normalized_shape, mean, rstd, weight,
      {output_mask[0] != 0, weight && output_mask[1] != 0, bias && output_mask[2] != 0});
  if (dbias) dbias = in_dtype(dbias, bias.dtype());
  return {dx, dweight, dbias};
}

std::tuple<Tensor, Tensor> fused_rms_norm_backward(KeySet, const Tensor& grad_out,
                                                   const Tensor& input,
                                                   const Dims& normalized_shape, const Tensor& rstd,
                                                   const Tensor& weight, const Dims& output_mask) {
  check(output_mask.size() == 2, "_fused_rms_norm_backward: output_mask needs 2 elements, got ",
        output_mask);
  check_sizes(grad_out, input, normalized_shape, rstd, "_fused_rms_norm_backward");
  const auto [dx, dweight, none] =
      row_gradients(grad_out, input, normalized_shape, Tensor(), rstd, weight,
                    {output_mask[0] != 0, weight && output_mask[1] != 0, false});
  return {dx, dweight};
}

}  // namespace uh::kernels
