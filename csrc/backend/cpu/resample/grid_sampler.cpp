// Sampling an image at arbitrary positions: each is a short list of pixels with weights, shared by
// all channels.
#include <algorithm>
#include <cmath>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/resample/sampler.h"
#include "base/parallel.h"
#include "generated/kernels/resample.h"

namespace uh::kernels {
namespace {

template <class T>
void sample(const Tensor& out, const Tensor& in, const Tensor& grid, const Sampler<T>& sampler) {
  const int64_t dims = in.ndim() - 2, channels = in.size(1);
  int64_t size[3] = {1, 1, 1};  // depth, height, width
  for (int64_t d = 0; d < dims; ++d) size[3 - dims + d] = in.size(2 + d);
  const int64_t plane = size[0] * size[1] * size[2];
  const int64_t positions = out.numel() / std::max<int64_t>(in.size(0) * channels, 1);
  using Along = typename Sampler<T>::Along;
  const Along first_plane{{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 0}, 1};
  parallel_for(0, in.size(0) * positions, 1 + 8192 / std::max<int64_t>(channels, 1),
               [&](int64_t lo, int64_t hi) {
                 for (int64_t i = lo; i < hi; ++i) {
                   const int64_t n = i / positions, place = i % positions;
                   const T* at = grid.data_as<T>() + i * dims;  // (x, y, z)
                   const Along x = sampler.along(at[0], size[2]), y = sampler.along(at[1], size[1]);
                   const Along z = dims == 3 ? sampler.along(at[2], size[0]) : first_plane;
                   int64_t offset[16];
                   T weight[16];
                   int count = 0;
                   T outside = 0;  // NaN where a weight is not finite
                   for (int64_t c = 0; c < z.count; ++c) {
                     for (int64_t b = 0; b < y.count; ++b) {
                       for (int64_t a = 0; a < x.count; ++a) {
                         if (x.index[a] < 0 || y.index[b] < 0 || z.index[c] < 0) {
                           if (dims == 2) outside += 0 * (x.weight[a] * y.weight[b]);
                           continue;
                         }
                         offset[count] = (z.index[c] * size[1] + y.index[b]) * size[2] + x.index[a];
                         weight[count++] = x.weight[a] * y.weight[b] * z.weight[c];
                       }
                     }
                   }
                   const T* from = in.data_as<T>() + n * channels * plane;
                   T* to = out.data_as<T>() + n * channels * positions + place;
                   for (int64_t c = 0; c < channels; ++c, from += plane, to += positions) {
                     T sum = outside;
                     for (int k = 0; k < count; ++k) sum += from[offset[k]] * weight[k];
                     *to = sum;
                   }
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
    sample<double>(result, in, places, {mode, padding, align_corners});
  else
    sample<float>(result, in, places, {mode, padding, align_corners});
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
  for (int64_t n = 0; n < size[0]; ++n) {
    const double* m = matrices.data_as<double>() + n * dims * (dims + 1);
    for (int64_t index = 0; index < positions; ++index) {
      double base[4] = {0, 0, 0, 1};  // x, y, (z,) 1
      int64_t remainder = index;
      for (int64_t d = 0; d < dims; ++d) {
        const int64_t length = sizes[static_cast<size_t>(dims - d)];
        base[d] = centre(remainder % length, length);
        remainder /= length;
      }
      base[dims] = 1;
      for (int64_t r = 0; r < dims; ++r) {
        double sum = 0;
        for (int64_t c = 0; c <= dims; ++c) sum += m[r * (dims + 1) + c] * base[c];
        result.data_as<double>()[(n * positions + index) * dims + r] = sum;
      }
    }
  }
  copy_elements(out, result);
}

}  // namespace uh::kernels
