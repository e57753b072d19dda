#include "autograd/formulas/resample.h"

#include "generated/ops/creation.h"
#include "generated/ops/join.h"
#include "generated/ops/linalg.h"
#include "generated/ops/reduce.h"
#include "generated/ops/resample.h"
#include "generated/ops/view.h"

namespace uh::autograd {

std::vector<double> factors(std::initializer_list<std::optional<double>> argument) {
  std::vector<double> result;
  for (const auto& factor : argument) result.push_back(factor.value_or(0));
  return result;
}

Tensor upsampled(const Tensor& t, const Dims& sizes, const std::vector<double>& factors,
                 const std::string& mode, bool align_corners) {
  const size_t n = factors.size();
  const Dims size(IntSpan(sizes).last(n));
  const auto f = [&](size_t i) {
    return factors[i] > 0 ? std::optional<double>(factors[i]) : std::nullopt;
  };
  const bool exact = mode == "nearest-exact";
  if (exact || mode == "nearest") {
    if (n == 1)
      return exact ? ops::_upsample_nearest_exact1d(t, size, f(0))
                   : ops::upsample_nearest1d(t, size, f(0));
    if (n == 2)
      return exact ? ops::_upsample_nearest_exact2d(t, size, f(0), f(1))
                   : ops::upsample_nearest2d(t, size, f(0), f(1));
    return exact ? ops::_upsample_nearest_exact3d(t, size, f(0), f(1), f(2))
                 : ops::upsample_nearest3d(t, size, f(0), f(1), f(2));
  }
  if (n == 1) return ops::upsample_linear1d(t, size, align_corners, f(0));
  if (n == 3) return ops::upsample_trilinear3d(t, size, align_corners, f(0), f(1), f(2));
  if (mode == "linear") return ops::upsample_bilinear2d(t, size, align_corners, f(0), f(1));
  if (mode == "cubic") return ops::upsample_bicubic2d(t, size, align_corners, f(0), f(1));
  if (mode == "linear-aa") return ops::_upsample_bilinear2d_aa(t, size, align_corners, f(0), f(1));
  return ops::_upsample_bicubic2d_aa(t, size, align_corners, f(0), f(1));
}

// The grid is theta times the homogeneous coordinates of the identity's grid.
Tensor affine_grid_generator_backward(const Tensor& grad, const Dims& size, bool align_corners) {
  const int64_t dims = size.ndim() - 2, n = size[0];
  const Tensor identity = ops::expand(ops::eye(dims, dims + 1, grad.dtype(), grad.device()),
                                      Dims{n, dims, dims + 1}, false);
  const Dims flat{n, -1, dims};
  const Tensor positions =
      ops::reshape(ops::affine_grid_generator(identity, size, align_corners), flat);
  const Tensor turned = ops::transpose(ops::reshape(grad, flat), 1, 2);
  const Tensor ones = ops::sum(turned, Dims{2}, true, DType::kUndefined);
  return ops::cat({ops::bmm(turned, positions), ones}, 2);
}

}  // namespace uh::autograd
