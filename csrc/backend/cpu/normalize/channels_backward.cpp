// Gradients of batch_norm and group_norm. Both need, for every channel (of a sample), the sum of
// the gradient and that of its product with the input: what the statistics depend on.
#include <cmath>
#include <vector>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/normalize/common.h"
#include "backend/cpu/normalize_backward_loops.h"
#include "backend/cpu/reduce/reducer.h"
#include "base/parallel.h"
#include "generated/kernels/normalize.h"

namespace uh::kernels {
namespace {

constexpr int64_t kGrainSize = 1 << 14;  // elements a thread should have at least

using Numbers = std::vector<double>;

Numbers numbers_of(const Tensor& t, double otherwise, int64_t n) {
  Numbers out(static_cast<size_t>(n), otherwise);
  if (!t) return out;
  check(t.numel() == n && !t.is_meta(), "backward of a normalisation: expected ", n,
        " numbers, got sizes ", t.sizes());
  const Tensor dense = as_contiguous(t, DType::kFloat64);
  std::copy_n(dense.data_as<double>(), n, out.begin());
  return out;
}

Tensor tensor_of(const Numbers& numbers, DType dtype) {
  Tensor out = empty(Dims{static_cast<int64_t>(numbers.size())}, dtype);
  cast_run(out.data(), dtype, numbers.data(), DType::kFloat64, out.numel());
  record_write(out);
  return out;
}

// An input and its gradient of `samples` samples, `channels` channels, `area` elements each.
struct Planes {
  Tensor grad, x, dx;
  int64_t samples, channels, area, item;
  const NormalizeBackwardLoops& loops;

  Planes(const Tensor& grad_out, const Tensor& input, DType compute, bool wants_input, int64_t n,
         int64_t c, int64_t hw)
      : grad(as_contiguous(grad_out, compute)),
        x(as_contiguous(input, compute)),
        dx(wants_input ? contiguous_like(input, compute) : Tensor()),
        samples(n),
        channels(c),
        area(hw),
        item(itemsize(compute)),
        loops(normalize_backward_loops().of[static_cast<int>(compute)]) {}

  template <class F>
  void each_plane(const F& f) const {
    const int64_t grain = std::max<int64_t>(1, kGrainSize / std::max<int64_t>(1, area));
    parallel_for(0, samples * channels, grain, [&](int64_t lo, int64_t hi) {
      for (int64_t p = lo; p < hi; ++p) f(p, p * area * item);
    });
  }
};

std::tuple<Tensor, Tensor, Tensor> nothing(const Tensor& input, const Tensor& weight,
                                           DType original_dtype, int64_t channels,
                                           const Dims& mask) {
  const auto parameter = [&](bool required) {
    Tensor t = required ? empty(Dims{channels}, original_dtype, input.device()) : Tensor();
    if (t && !t.is_meta()) fill_elements(t, ElementBytes{});
    return t;
  };
  return {mask[0] ? empty(input.sizes(), input.dtype(), input.device()) : Tensor(),
          parameter(mask[1] != 0 && weight), parameter(mask[2] != 0)};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_batch_norm_backward(
    KeySet, const Tensor& grad_out, const Tensor& input, const Tensor& weight,
    const Tensor& running_mean, const Tensor& running_var, const Tensor& save_mean,
    const Tensor& save_invstd, bool train, double eps, const Dims& output_mask) {
  const bool empty_line = input.ndim() < 2 && input.numel() == 0;
  check(output_mask.size() == 3 && (input.ndim() >= 2 || empty_line) &&
            grad_out.sizes() == input.sizes(),
        "native_batch_norm_backward: grad_out of sizes ", grad_out.sizes(), " and input of ",
        input.sizes(), " do not belong together");
  check(train ? save_mean && save_invstd : running_mean && running_var,
        "native_batch_norm_backward: the statistics are not defined");
  const int64_t channels = empty_line ? 0 : input.size(1);
  const DType compute = sum_compute_dtype(input.dtype());
  const DType original_dtype = weight ? weight.dtype() : input.dtype();
  if (input.is_meta() || input.numel() == 0)
    return nothing(input, weight, original_dtype, channels, output_mask);
  const int64_t samples = input.size(0), area = input.numel() / (samples * channels);
  const Planes p(grad_out, input, compute, output_mask[0] != 0, samples, channels, area);
  const auto count = static_cast<size_t>(channels);
  const Numbers mean = numbers_of(train ? save_mean : running_mean, 0, channels);
  Numbers rstd = numbers_of(train ? save_invstd : running_var, 1, channels);
  if (!train)
    for (double& v : rstd) v = 1 / std::sqrt(v + eps);
  Numbers sum(count), product(count), a = numbers_of(weight, 1, channels), b(count), c(count);
  if (area == 1) {
    p.loops.column_sums(sum.data(), product.data(), p.grad.data(), p.x.data(), mean.data(), samples,
                        channels);
  } else {  // each channel by one thread, samples in order
    parallel_for(0, channels, 1 + kGrainSize / (samples * area), [&](int64_t lo, int64_t hi) {
      for (int64_t ch = lo; ch < hi; ++ch) {
        const auto i = static_cast<size_t>(ch);
        for (int64_t s = 0; s < samples; ++s) {
          const int64_t start = (s * channels + ch) * area * p.item;
          p.loops.sums(&sum[i], &product[i], p.grad.data() + start, p.x.data() + start, area,
                       mean[i]);
        }
      }
    });
  }
  const auto m = static_cast<double>(samples * area);
  for (size_t i = 0; i < count; ++i) {
    a[i] *= rstd[i];
    if (!train) continue;
    b[i] = -a[i] * rstd[i] * rstd[i] * product[i] / m;
    c[i] = -a[i] * sum[i] / m;
  }
  if (p.dx && area == 1) {
    p.loops.columns(p.dx.data(), p.grad.data(), p.x.data(), a.data(), mean.data(), b.data(),
                    c.data(), samples, channels);
  } else if (p.dx) {
    p.each_plane([&](int64_t plane, int64_t start) {
      const auto i = static_cast<size_t>(plane % channels);
      p.loops.segment(p.dx.data() + start, p.grad.data() + start, p.x.data() + start, area, a[i],
                      mean[i], b[i], c[i]);
    });
  }
  for (size_t i = 0; i < count; ++i) product[i] *= rstd[i];
  const Tensor dx = p.dx ? like_input(p.dx, input) : p.dx;
  if (dx) record_write(dx);
  return {dx, weight && output_mask[1] ? tensor_of(product, original_dtype) : Tensor(),
          output_mask[2] ? tensor_of(sum, original_dtype) : Tensor()};
}

std::tuple<Tensor, Tensor, Tensor> native_group_norm_backward(
    KeySet, const Tensor& grad_out, const Tensor& input, const Tensor& mean, const Tensor& rstd,
    const Tensor& weight, int64_t N, int64_t C, int64_t HxW, int64_t group,
    const Dims& output_mask) {
  check(output_mask.size() == 3 && group > 0 && C % group == 0 &&
            checked_numel(Dims{N, C, HxW}, "native_group_norm_backward") == input.numel() &&
            grad_out.sizes() == input.sizes() && mean.numel() == N * group,
        "native_group_norm_backward: grad_out of sizes ", grad_out.sizes(), " and input of ",
        input.sizes(), " do not belong together");
  const DType compute = sum_compute_dtype(input.dtype());
  const DType original_dtype = weight ? weight.dtype() : input.dtype();
  if (input.is_meta() || input.numel() == 0)
    return nothing(input, weight, original_dtype, C, output_mask);
  const Planes p(grad_out, input, compute, output_mask[0] != 0, N, C, HxW);
  const Numbers means = numbers_of(mean, 0, N * group), rstds = numbers_of(rstd, 1, N * group);
  const Numbers scale = numbers_of(weight, 1, C);
  Numbers sum(static_cast<size_t>(N * C)), product(sum.size());
  const int64_t channels = C / group;
  p.each_plane([&](int64_t plane, int64_t start) {
    const auto i = static_cast<size_t>(plane);
    p.loops.sums(&sum[i], &product[i], p.grad.data() + start, p.x.data() + start, HxW,
                 means[i / static_cast<size_t>(channels)]);
  });
  if (p.dx) {
    Numbers b(means.size()), c(means.size());
    const auto m = static_cast<double>(channels * HxW);
    for (size_t g = 0; g < means.size(); ++g) {
      double total = 0, products = 0;
      for (int64_t k = 0; k < channels; ++k) {
        const auto at = g * static_cast<size_t>(channels) + static_cast<size_t>(k);
        const double w = scale[at % static_cast<size_t>(C)];
        total += w * sum[at];
        products += w * product[at];
      }
      b[g] = -rstds[g] * rstds[g] * rstds[g] * products / m;
      c[g] = -rstds[g] * total / m;
    }
    p.each_plane([&](int64_t plane, int64_t start) {
      const auto g = static_cast<size_t>(plane / channels);
      const double a = rstds[g] * scale[static_cast<size_t>(plane % C)];
      p.loops.segment(p.dx.data() + start, p.grad.data() + start, p.x.data() + start, HxW, a,
                      means[g], b[g], c[g]);
    });
  }
  Numbers dweight(static_cast<size_t>(C)), dbias(dweight.size());
  for (size_t i = 0; i < sum.size(); ++i) {
    dbias[i % dbias.size()] += sum[i];
    dweight[i % dbias.size()] += product[i] * rstds[i / static_cast<size_t>(channels)];
  }
  const Tensor dx = p.dx ? like_input(p.dx, input) : p.dx;
  if (dx) record_write(dx);
  return {dx, weight && output_mask[1] ? tensor_of(dweight, original_dtype) : Tensor(),
          output_mask[2] ? tensor_of(dbias, original_dtype) : Tensor()};
}

}  // namespace uh::kernels
