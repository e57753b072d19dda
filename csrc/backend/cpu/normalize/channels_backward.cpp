// Gradients of batch_norm and group_norm. Both need, for each channel (of a sample), the sum of the
// gradient and of its product with the input.
#include <cmath>
#include <vector>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/normalize/common.h"
#include "backend/cpu/normalize_backward_loops.h"
#include "backend/cpu/reduce/reducer.h"
#include "base/parallel.h"
#include "generated/kernels/normalize.h"
#include "ops/normalize/shapes.h"

namespace uh::kernels {
namespace {

// An input and its gradient: `samples` samples, `channels` channels, `area` elements each.
struct Planes {
  Tensor grad, x;
  LoopOutput dx;
  int64_t samples, channels, area, item;
  const NormalizeBackwardLoops& loops;

  Planes(const Tensor& grad_out, const Tensor& input, DType compute, const Tensor& grad_input,
         int64_t n, int64_t c, int64_t hw)
      : grad(as_contiguous(grad_out, compute)),
        x(as_contiguous(input, compute)),
        dx(grad_input, compute),
        samples(n),
        channels(c),
        area(hw),
        item(itemsize(compute)),
        loops(normalize_backward_loops().of[static_cast<int>(compute)]) {}

  template <class F>
  void each_plane(const F& f) const {
    const int64_t grain = std::max<int64_t>(1, kNormalizeGrainSize / std::max<int64_t>(1, area));
    parallel_for(0, samples * channels, grain, [&](int64_t lo, int64_t hi) {
      for (int64_t p = lo; p < hi; ++p) f(p, p * area * item);
    });
  }
};

// Handles an empty input: the parameters' gradients are 0. Returns whether it was empty.
bool is_of_nothing(const Tensor& input, const Tensor& grad_weight, const Tensor& grad_bias) {
  if (input.numel() > 0) return false;
  for (const Tensor& sum : {grad_weight, grad_bias})
    if (sum) fill_elements(sum, ElementBytes{});
  return true;
}

}  // namespace

void native_batch_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& weight,
                                const Tensor& running_mean, const Tensor& running_var,
                                const Tensor& save_mean, const Tensor& save_invstd, bool train,
                                double eps, const Dims&, const Tensor& result0,
                                const Tensor& result1, const Tensor& result2) {
  if (is_of_nothing(input, result1, result2)) return;
  const DType compute = statistics_dtype(input.dtype());
  const int64_t channels = input.size(1);
  const int64_t samples = input.size(0), area = input.numel() / (samples * channels);
  const Planes p(grad_out, input, compute, result0, samples, channels, area);
  const auto count = static_cast<size_t>(channels);
  const Numbers mean = numbers_of(train ? save_mean : running_mean, 0, channels);
  Numbers rstd = numbers_of(train ? save_invstd : running_var, 1, channels);
  if (!train)
    for (double& v : rstd) v = 1 / std::sqrt(v + eps);
  Numbers sum(count), product(count), a = numbers_of(weight, 1, channels), b(count), c(count);
  if (area == 1) {
    p.loops.column_sums(sum.data(), product.data(), p.grad.data(), p.x.data(), mean.data(), samples,
                        channels);
  } else {  // one thread per channel, samples in order
    parallel_for(0, channels, 1 + kNormalizeGrainSize / (samples * area),
                 [&](int64_t lo, int64_t hi) {
                   for (int64_t ch = lo; ch < hi; ++ch) {
                     const auto i = static_cast<size_t>(ch);
                     for (int64_t s = 0; s < samples; ++s) {
                       const int64_t start = (s * channels + ch) * area * p.item;
                       p.loops.sums(&sum[i], &product[i], p.grad.data() + start, p.x.data() + start,
                                    area, mean[i]);
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
  if (result0 && area == 1) {
    p.loops.columns(p.dx.data(), p.grad.data(), p.x.data(), a.data(), mean.data(), b.data(),
                    c.data(), samples, channels);
  } else if (result0) {
    p.each_plane([&](int64_t plane, int64_t start) {
      const auto i = static_cast<size_t>(plane % channels);
      p.loops.segment(p.dx.data() + start, p.grad.data() + start, p.x.data() + start, area, a[i],
                      mean[i], b[i], c[i]);
    });
  }
  for (size_t i = 0; i < count; ++i) product[i] *= rstd[i];
  p.dx.store();
  store_numbers(result1, product);
  store_numbers(result2, sum);
}

void native_group_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& mean,
                                const Tensor& rstd, const Tensor& weight, int64_t N, int64_t C,
                                int64_t HxW, int64_t group, const Dims&, const Tensor& result0,
                                const Tensor& result1, const Tensor& result2) {
  if (is_of_nothing(input, result1, result2)) return;
  const DType compute = statistics_dtype(input.dtype());
  const Planes p(grad_out, input, compute, result0, N, C, HxW);
  const Numbers means = numbers_of(mean, 0, N * group), rstds = numbers_of(rstd, 1, N * group);
  const Numbers scale = numbers_of(weight, 1, C);
  Numbers sum(static_cast<size_t>(N * C)), product(sum.size());
  const int64_t channels = C / group;
  p.each_plane([&](int64_t plane, int64_t start) {
    const auto i = static_cast<size_t>(plane);
    p.loops.sums(&sum[i], &product[i], p.grad.data() + start, p.x.data() + start, HxW,
                 means[i / static_cast<size_t>(channels)]);
  });
  if (result0) {
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
  p.dx.store();
  store_numbers(result1, dweight);
  store_numbers(result2, dbias);
}

}  // namespace uh::kernels
