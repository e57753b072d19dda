// Gradients of grid_sampler: by the pixels, weighted; and by the grid, from the derivatives of the
// weights.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/resample/sampler.h"
#include "base/parallel.h"
#include "generated/kernels/resample.h"
#include "ops/operand_checks.h"

namespace uh::kernels {
namespace {

using UH_ISA::Sampler;

template <class T>
struct Backward {
  const Sampler<T>& sampler;
  int64_t dims, channels, places, plane;
  int64_t size[3] = {1, 1, 1};  // depth, height, width
  using Along = typename Sampler<T>::Along;

  // All positions of one image. `to_in` and `to_grid` may be null.
  void image(T* to_in, T* to_grid, const T* grad, const T* in, const T* grid) const {
    const Along first_plane{{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 0}, 1};
    for (int64_t p = 0; p < places; ++p, grid += dims) {
      const Along x = sampler.along(grid[0], size[2]), y = sampler.along(grid[1], size[1]);
      const Along z = dims == 3 ? sampler.along(grid[2], size[0]) : first_plane;
      T slope[3] = {0, 0, 0};  // of the sum over channels, along x, y and z
      for (int64_t c = 0; c < z.count; ++c) {
        for (int64_t b = 0; b < y.count; ++b) {
          for (int64_t a = 0; a < x.count; ++a) {
            if (x.index[a] < 0 || y.index[b] < 0 || z.index[c] < 0) continue;
            const int64_t at = (z.index[c] * size[1] + y.index[b]) * size[2] + x.index[a];
            const T weight = x.weight[a] * y.weight[b] * z.weight[c];
            T product = 0;  // gradient times pixel, summed over the channels
            for (int64_t ch = 0; ch < channels; ++ch) {
              const T g = grad[ch * places + p];
              if (to_in) to_in[ch * plane + at] += weight * g;
              if (to_grid) product += in[ch * plane + at] * g;
            }
            slope[0] += product * x.slope[a] * y.weight[b] * z.weight[c];
            slope[1] += product * x.weight[a] * y.slope[b] * z.weight[c];
            slope[2] += product * x.weight[a] * y.weight[b] * z.slope[c];
          }
        }
      }
      if (to_grid) std::copy_n(slope, dims, to_grid + p * dims);
    }
  }
};

template <class T>
void run(const Tensor& to_in, const Tensor& to_grid, const Tensor& grad, const Tensor& in,
         const Tensor& grid, const Sampler<T>& sampler) {
  const int64_t dims = in.ndim() - 2, images = in.size(0);
  Backward<T> back{sampler, dims, in.size(1), 1, 1};
  for (int64_t d = 0; d < dims; ++d) {
    back.size[3 - dims + d] = in.size(2 + d);
    back.places *= grid.size(1 + d);
  }
  back.plane = back.size[0] * back.size[1] * back.size[2];
  const int64_t image = back.channels * back.plane, results = back.channels * back.places;
  const auto at = [](const Tensor& t, int64_t offset) {
    return t ? t.data_as<T>() + offset : nullptr;
  };
  parallel_for(0, images, 1 + 8192 / (results + 1), [&](int64_t lo, int64_t hi) {
    for (int64_t n = lo; n < hi; ++n)
      back.image(at(to_in, n * image), at(to_grid, n * back.places * dims), at(grad, n * results),
                 at(in, n * image), at(grid, n * back.places * dims));
  });
}

std::tuple<Tensor, Tensor> sampled_backward(const Tensor& grad_output, const Tensor& input,
                                            const Tensor& grid, int64_t mode, int64_t padding,
                                            bool align_corners, const Dims& mask,
                                            std::string_view op) {
  check_together(op, input, {&grad_output, &grid}, true);
  check_kind(is_floating(input.dtype()), ErrorKind::kNotImplemented, "\"", op,
             "\" not implemented for '", info(input.dtype()).title, "'");
  const int64_t dims = op == "grid_sampler_2d_backward" ? 2 : 3;
  bool fits = mask.size() == 2 && input.ndim() == dims + 2 && grid.ndim() == dims + 2 &&
              grad_output.ndim() == dims + 2 && grad_output.size(0) == input.size(0) &&
              grad_output.size(1) == input.size(1) && grid.size(0) == input.size(0) &&
              grid.size(dims + 1) == dims;
  for (int64_t d = 2; fits && d < input.ndim(); ++d) fits = grad_output.size(d) == grid.size(d - 1);
  check(fits, op, ": grad_output of sizes ", grad_output.sizes(), ", input of ", input.sizes(),
        " and grid of ", grid.sizes(), " do not belong together");
  const bool wide = input.dtype() == DType::kFloat64;
  const DType compute = wide ? DType::kFloat64 : DType::kFloat32;
  const auto result = [&](const Tensor& like, bool required) {
    if (!required) return Tensor();
    const Tensor t = empty(like.sizes(), like.is_meta() ? like.dtype() : compute, like.device());
    if (!t.is_meta()) fill_elements(t, ElementBytes{});
    return t;
  };
  const Tensor to_in = result(input, mask[0] != 0), to_grid = result(grid, mask[1] != 0);
  if (input.is_meta()) return {to_in, to_grid};
  const Tensor grad = as_contiguous(grad_output, compute), in = as_contiguous(input, compute);
  const Tensor positions = as_contiguous(grid, compute);
  if (input.numel() > 0 && grad.numel() > 0) {
    if (wide)
      run<double>(to_in, to_grid, grad, in, positions, {mode, padding, align_corners});
    else
      run<float>(to_in, to_grid, grad, in, positions, {mode, padding, align_corners});
  }
  const auto finished = [&](const Tensor& t) {
    if (!t) return t;
    const Tensor out = t.dtype() == input.dtype() ? t : empty(t.sizes(), input.dtype());
    if (!out.is_same(t)) copy_elements(out, t);
    record_write(out);
    return out;
  };
  return {finished(to_in), finished(to_grid)};
}

}  // namespace

std::tuple<Tensor, Tensor> grid_sampler_2d_backward(KeySet, const Tensor& grad_output,
                                                    const Tensor& input, const Tensor& grid,
                                                    int64_t mode, int64_t padding,
                                                    bool align_corners, const Dims& output_mask) {
  return sampled_backward(grad_output, input, grid, mode, padding, align_corners, output_mask,
                          "grid_sampler_2d_backward");
}
std::tuple<Tensor, Tensor> grid_sampler_3d_backward(KeySet, const Tensor& grad_output,
                                                    const Tensor& input, const Tensor& grid,
                                                    int64_t mode, int64_t padding,
                                                    bool align_corners, const Dims& output_mask) {
  return sampled_backward(grad_output, input, grid, mode, padding, align_corners, output_mask,
                          "grid_sampler_3d_backward");
}

}  // namespace uh::kernels
