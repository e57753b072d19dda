// Differentiable gradients of grid_sampler, composed of other operators.
#include <vector>

#include "backend/cpu/resample/sampler.h"
#include "generated/kernels/resample.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/gather.h"
#include "generated/ops/join.h"
#include "generated/ops/reduce.h"
#include "generated/ops/rounding.h"
#include "generated/ops/scatter.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"

namespace uh::kernels {
namespace {

Tensor plus(const Tensor& a, const Operand& b) { return ops::add(a, b, Scalar(1)); }
Tensor minus(const Tensor& a, const Operand& b) { return ops::sub(a, b, Scalar(1)); }
Tensor minus(const Scalar& a, const Tensor& b) { return ops::sub(a, b, Scalar(1)); }

Tensor in_dtype(const Tensor& t, DType dtype) {
  return ops::_to_copy(t, dtype, Device::kUndefined, MemoryFormat::kUndefined);
}

// One axis's part of a sample: a pixel, its weight, and the weight's derivative.
struct Tap {
  Tensor index, inside, weight, slope;
};

struct Axis {
  int64_t size, mode, padding;
  bool align_corners;

  double span() const { return static_cast<double>(align_corners ? size - 1 : size); }

  Tensor pixel(const Tensor& x) const {
    const double half = span() / 2;
    return plus(ops::mul(x, Scalar(half)), Scalar(static_cast<double>(size - 1) / 2));
  }

  // Returns the reflected or clamped coordinate and its derivative.
  std::pair<Tensor, Tensor> reflected(const Tensor& x) const {
    const Tensor ones =
        ops::ones_like(x, DType::kUndefined, Device::kUndefined, MemoryFormat::kUndefined);
    if (padding == kZeros) return {x, ones};
    Tensor at = x, slope = ones;
    if (padding == kReflection) {
      if (span() == 0) return {ops::mul(x, Scalar(0.0)), ops::mul(ones, Scalar(0.0))};
      const double low = align_corners ? 0 : -0.5;
      const Tensor shifted = minus(x, Scalar(low)), away = ops::abs(shifted);
      const Tensor turns = ops::detach(ops::floor(ops::div(away, Scalar(span()))));
      const Tensor remainder = minus(away, ops::mul(turns, Scalar(span())));
      const Tensor even = ops::eq(ops::remainder(turns, Scalar(2.0)), Scalar(0.0));
      at = ops::where(even, plus(remainder, Scalar(low)), minus(Scalar(span() + low), remainder));
      const Tensor forward = ops::eq(ops::lt(shifted, Scalar(0.0)), even);
      slope = ops::where(forward, Scalar(-1.0), ones);
    }
    const double last = static_cast<double>(size - 1);
    const Tensor clamped = ops::logical_or(ops::le(at, Scalar(0.0)), ops::ge(at, Scalar(last)));
    return {ops::clamp(at, Scalar(0.0), Scalar(last)), ops::where(clamped, Scalar(0.0), slope)};
  }

  Tap tap(const Tensor& position, const Tensor& weight, const Tensor& slope) const {
    const double last = static_cast<double>(size - 1);
    const Tensor inside =
        ops::logical_and(ops::ge(position, Scalar(0.0)), ops::le(position, Scalar(last)));
    const Tensor safe = ops::where(inside, position, Scalar(0.0));
    return {in_dtype(safe, DType::kInt64), inside, weight, slope};
  }

  std::vector<Tap> taps(const Tensor& coordinate) const {
    const Tensor x = pixel(coordinate);
    std::vector<Tap> result;
    if (mode == kBicubic) {
      const Tensor first = ops::detach(ops::floor(x)), t = minus(x, first);
      for (int k = -1; k <= 2; ++k) {
        const Tensor away = minus(t, Scalar(static_cast<double>(k)));
        const auto [weight, slope] = cubic(away, k == -1 || k == 2);
        const Tensor position = reflected(plus(first, Scalar(static_cast<double>(k)))).first;
        result.push_back(tap(ops::detach(position), weight, ops::mul(slope, Scalar(span() / 2))));
      }
      return result;
    }
    const auto [at, slope] = reflected(x);
    const Tensor ones =
        ops::ones_like(x, DType::kUndefined, Device::kUndefined, MemoryFormat::kUndefined);
    if (mode == kNearest) {
      result.push_back(tap(ops::detach(ops::round(at)), ones, ops::mul(ones, Scalar(0.0))));
      return result;
    }
    const Tensor first = ops::detach(ops::floor(at)), rest = minus(at, first);
    const Tensor change = ops::mul(slope, Scalar(span() / 2));
    result.push_back(tap(first, minus(Scalar(1.0), rest), ops::neg(change)));
    result.push_back(tap(plus(first, Scalar(1.0)), rest, change));
    return result;
  }

  // Keys' kernel at a distance of at most 1, or between 1 and 2, with its derivative.
  static std::pair<Tensor, Tensor> cubic(const Tensor& away, bool outer) {
    constexpr double a = -0.75;
    const Tensor x = ops::abs(away);
    const Tensor side = ops::where(ops::lt(away, Scalar(0.0)), Scalar(-1.0), Scalar(1.0));
    const auto polynomial = [&](double c3, double c2, double c1, double c0) {
      Tensor sum = plus(ops::mul(x, Scalar(c3)), Scalar(c2));
      sum = plus(ops::mul(sum, x), Scalar(c1));
      return plus(ops::mul(sum, x), Scalar(c0));
    };
    if (outer)
      return {polynomial(a, -5 * a, 8 * a, -4 * a),
              ops::mul(in_dtype(side, x.dtype()), polynomial(0, 3 * a, -10 * a, 8 * a))};
    return {polynomial(a + 2, -(a + 3), 0, 1),
            ops::mul(in_dtype(side, x.dtype()), polynomial(0, 3 * (a + 2), -2 * (a + 3), 0))};
  }
};

std::tuple<Tensor, Tensor> composed(const Tensor& grad_output, const Tensor& input,
                                    const Tensor& grid, int64_t mode, int64_t padding,
                                    bool align_corners, const Dims& mask) {
  const int64_t dims = input.ndim() - 2, n = input.size(0), channels = input.size(1);
  int64_t plane = 1;
  for (int64_t d = 0; d < dims; ++d) plane *= input.size(2 + d);
  const Tensor positions = ops::reshape(grid, Dims{n, -1, dims});
  const Tensor grad = ops::reshape(grad_output, Dims{n, channels, -1});
  const Tensor pixels = ops::reshape(input, Dims{n, channels, plane});
  std::vector<std::vector<Tap>> axes;  // x first, as in the grid
  for (int64_t d = 0; d < dims; ++d) {
    const Axis axis{input.size(1 + dims - d), mode, padding, align_corners};
    axes.push_back(axis.taps(ops::select(positions, 2, d)));
  }
  Tensor to_input =
      ops::zeros_like(pixels, DType::kUndefined, Device::kUndefined, MemoryFormat::kUndefined);
  std::vector<Tensor> slopes(static_cast<size_t>(dims));
  size_t combinations = 1;
  for (const auto& taps : axes) combinations *= taps.size();
  for (size_t i = 0; i < combinations; ++i) {
    Tensor index, inside;
    std::vector<const Tap*> selected;
    size_t remainder = i;
    int64_t step = 1;
    for (size_t d = 0; d < axes.size(); ++d) {
      const Tap& tap = axes[d][remainder % axes[d].size()];
      remainder /= axes[d].size();
      const Tensor part = ops::mul(tap.index, Scalar(step));
      index = index ? plus(index, part) : part;
      inside = inside ? ops::logical_and(inside, tap.inside) : tap.inside;
      step *= input.size(1 + dims - static_cast<int64_t>(d));
      selected.push_back(&tap);
    }
    // The product of the weights, with one axis's weight replaced by its derivative.
    const auto product = [&](size_t sloped) {
      Tensor result = in_dtype(inside, grad.dtype());
      for (size_t d = 0; d < selected.size(); ++d)
        result = ops::mul(result, d == sloped ? selected[d]->slope : selected[d]->weight);
      return result;
    };
    const Tensor at = ops::expand(ops::unsqueeze(index, 1), grad.sizes(), false);
    if (mask[0]) {
      const Tensor share = ops::mul(grad, ops::unsqueeze(product(selected.size()), 1));
      to_input = ops::scatter_add(to_input, 2, at, share);
    }
    if (!mask[1]) continue;
    const Tensor met = ops::sum(ops::mul(ops::gather(pixels, 2, at, false), grad), Dims{1}, false,
                                DType::kUndefined);
    for (size_t d = 0; d < slopes.size(); ++d) {
      const Tensor part = ops::mul(met, product(d));
      slopes[d] = slopes[d] ? plus(slopes[d], part) : part;
    }
  }
  return {mask[0] ? ops::reshape(to_input, input.sizes()) : Tensor(),
          mask[1] ? ops::reshape(ops::stack(slopes, 2), grid.sizes()) : Tensor()};
}

}  // namespace

std::tuple<Tensor, Tensor> grid_sampler_2d_backward_calls(KeySet, const Tensor& grad_output,
                                                          const Tensor& input, const Tensor& grid,
                                                          int64_t mode, int64_t padding,
                                                          bool align_corners, const Dims& mask) {
  return composed(grad_output, input, grid, mode, padding, align_corners, mask);
}
std::tuple<Tensor, Tensor> grid_sampler_3d_backward_calls(KeySet, const Tensor& grad_output,
                                                          const Tensor& input, const Tensor& grid,
                                                          int64_t mode, int64_t padding,
                                                          bool align_corners, const Dims& mask) {
  return composed(grad_output, input, grid, mode, padding, align_corners, mask);
}

}  // namespace uh::kernels
