// The shape rules of sampling an image at arbitrary positions, and their composite.
#include "generated/kernels/resample.h"
#include "generated/ops/resample.h"
#include "ops/resample/mode.h"
#include "ops/resample/shapes.h"

namespace uh::shapes {

Tensor grid_sampler(std::string_view op, int64_t dims, const Tensor& input, const Tensor& grid,
                    int64_t mode, int64_t padding) {
  check(input.ndim() == dims + 2 && grid.ndim() == dims + 2, op, ": expected ", dims + 2,
        "D input and grid, but got input with sizes ", input.sizes(), " and grid with sizes ",
        grid.sizes());
  check(input.size(0) == grid.size(0), op,
        ": expected grid and input to have same batch size, but got input with sizes ",
        input.sizes(), " and grid with sizes ", grid.sizes());
  check(grid.size(dims + 1) == dims, op, ": expected grid to have size ", dims,
        " in last dimension, but got grid with sizes ", grid.sizes());
  for (int64_t d = 2; d < input.ndim(); ++d)
    check(input.size(d) > 0, op,
          ": expected input to have non-empty spatial dimensions, but input has sizes ",
          input.sizes());
  check(mode != kBicubic || dims == 2, op, ": bicubic interpolation only supports 4D input");
  check(mode >= kBilinear && mode <= kBicubic && padding >= kZeros && padding <= kReflection, op,
        ": interpolation_mode and padding_mode are 0, 1 or 2, got ", mode, " and ", padding);
  check_kind(is_floating(input.dtype()), ErrorKind::kNotImplemented, "\"", op,
             "\" not implemented for '", info(input.dtype()).title, "'");
  check(input.dtype() == grid.dtype(), op, ": expected input and grid to have the same dtype, got ",
        name(input.dtype()), " and ", name(grid.dtype()));
  Dims sizes{input.size(0), input.size(1)};
  for (int64_t d = 1; d <= dims; ++d) sizes.push_back(grid.size(d));
  return empty(sizes, input.dtype(), input.device());
}

Tensor affine_grid(const Tensor& theta, const Dims& size) {
  const int64_t dims = size.ndim() - 2;
  check(dims == 2 || dims == 3,
        "affine_grid_generator: needs 4d (spatial) or 5d (volumetric) size, got ", size);
  for (const int64_t s : size)
    check(s >= 0, "affine_grid_generator: sizes must not be negative, got ", size);
  check(theta.ndim() == 3 && theta.size(0) == size[0] && theta.size(1) == dims &&
            theta.size(2) == dims + 1,
        "affine_grid_generator: expected theta of size (", size[0], ", ", dims, ", ", dims + 1,
        "), got ", theta.sizes());
  check_kind(is_floating(theta.dtype()), ErrorKind::kNotImplemented,
             "\"affine_grid_generator\" not implemented for '", info(theta.dtype()).title, "'");
  Dims sizes{size[0]};
  for (int64_t d = 0; d < dims; ++d) sizes.push_back(size[static_cast<size_t>(2 + d)]);
  sizes.push_back(dims);
  checked_numel(sizes, "affine_grid_generator");
  return empty(sizes, theta.dtype(), theta.device());
}

}  // namespace uh::shapes

namespace uh::kernels {

Tensor grid_sampler(KeySet, const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
                    bool align_corners) {
  if (input.ndim() == 5) return ops::grid_sampler_3d(input, grid, mode, padding, align_corners);
  return ops::grid_sampler_2d(input, grid, mode, padding, align_corners);
}

}  // namespace uh::kernels
