// Sampling an image at arbitrary positions: each is a short list of pixels with weights, shared by
// all channels.
#include <algorithm>
#include <limits>
#include <vector>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/grid_loops.h"
#include "base/parallel.h"
#include "generated/kernels/resample.h"

namespace uh::kernels {
namespace {

template <class T>
void sample(const Tensor& out, const Tensor& in, const Tensor& grid, int64_t mode, int64_t padding,
            bool align_corners) {
  const int64_t dims = in.ndim() - 2, channels = in.size(1), images = in.size(0);
  GridSamples<T> image{.grid = grid.data_as<T>(),
                       .in = in.data_as<T>(),
                       .out = out.data_as<T>(),
                       .dims = dims,
                       .channels = channels,
                       .positions = out.numel() / (images * channels),
                       .size = {1, 1, 1},
                       .mode = mode,
                       .padding = padding,
                       .align_corners = align_corners};
  for (int64_t d = 0; d < dims; ++d) image.size[3 - dims + d] = in.size(2 + d);
  const int64_t plane = in.numel() / (images * channels);
  check(plane <= std::numeric_limits<int32_t>::max(), "grid_sampler: an image of ", plane,
        " pixels is too large");
  const auto run = [] {
    if constexpr (sizeof(T) == sizeof(float))
      return float_grid_loops().sample;
    else
      return double_grid_loops().sample;
  }();
  const int64_t positions = image.positions, grain = 1 + 8192 / channels;
  parallel_for(0, images * positions, grain, [&](int64_t lo, int64_t hi) {
    while (lo < hi) {
      const int64_t n = lo / positions, end = std::min(hi, (n + 1) * positions);
      GridSamples<T> samples = image;
      samples.grid += n * positions * dims;
      samples.in += n * channels * plane;
      samples.out += n * channels * positions;
      run(samples, lo - n * positions, end - n * positions);
      lo = end;
    }
  });
}

void sampled(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
             bool align_corners, const Tensor& out) {
  if (out.numel() == 0) return;
  const bool wide = input.dtype() == DType::kFloat64;
  const DType compute = wide ? DType::kFloat64 : DType::kFloat32;
  const Tensor in = as_contiguous(input, compute), places = as_contiguous(grid, compute);
  const Tensor result = compute == out.dtype() ? out : empty(out.sizes(), compute);
  if (wide)
    sample<double>(result, in, places, mode, padding, align_corners);
  else
    sample<float>(result, in, places, mode, padding, align_corners);
  if (!result.is_same(out)) copy_elements(out, result);
}

}  // namespace

void grid_sampler_2d(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
                     bool align_corners, const Tensor& result) {
  sampled(input, grid, mode, padding, align_corners, result);
}
void grid_sampler_3d(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
                     bool align_corners, const Tensor& result) {
  sampled(input, grid, mode, padding, align_corners, result);
}

void affine_grid_generator(const Tensor& theta, const Dims& size, bool align_corners,
                           const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t dims = size.ndim() - 2, positions = out.numel() / (size[0] * dims);
  const Dims& sizes = out.sizes();
  const Tensor matrices = as_contiguous(theta, DType::kFloat64);
  const Tensor result = empty(sizes, DType::kFloat64);
  const auto centre = [&](int64_t i, int64_t n) {
    if (n <= 1) return 0.0;
    const double x = -1 + 2 * static_cast<double>(i) / static_cast<double>(n - 1);
    return align_corners ? x : x * static_cast<double>(n - 1) / static_cast<double>(n);
  };
  const int64_t width = sizes[static_cast<size_t>(dims)], columns = dims + 1;
  std::vector<double> across;  // x of each column
  for (int64_t i = 0; i < width; ++i) across.push_back(centre(i, width));
  double* to = result.data_as<double>();
  for (int64_t n = 0; n < size[0]; ++n) {
    const double* m = matrices.data_as<double>() + n * dims * columns;
    for (int64_t row = 0; row < positions / width; ++row, to += width * dims) {
      double start[3];  // the part that a row's positions share
      int64_t remainder = row;
      for (int64_t r = 0; r < dims; ++r) start[r] = m[r * columns + dims];
      for (int64_t d = 1; d < dims; ++d) {
        const int64_t length = sizes[static_cast<size_t>(dims - d)];
        const double at = centre(remainder % length, length);
        remainder /= length;
        for (int64_t r = 0; r < dims; ++r) start[r] += m[r * columns + d] * at;
      }
      for (int64_t i = 0; i < width; ++i)
        for (int64_t r = 0; r < dims; ++r)
          to[i * dims + r] = m[r * columns] * across[static_cast<size_t>(i)] + start[r];
    }
  }
  copy_elements(out, result);
}

}  // namespace uh::kernels
