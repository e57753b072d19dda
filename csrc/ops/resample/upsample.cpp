// The shape rules of upsampling, and its overloads for a size or scale factors.
#include <cmath>

#include "generated/kernels/resample.h"
#include "generated/ops/resample.h"
#include "ops/resample/mode.h"
#include "ops/resample/shapes.h"
#include "ops/suggested_format.h"

namespace uh {

ResampleMode resample_mode(const std::string& name) {
  if (name == "nearest") return ResampleMode::kNearest;
  if (name == "nearest-exact") return ResampleMode::kNearestExact;
  if (name == "linear") return ResampleMode::kLinear;
  if (name == "cubic") return ResampleMode::kCubic;
  if (name == "linear-aa") return ResampleMode::kLinearAa;
  check(name == "cubic-aa", "_upsample_backward: unknown mode '", name, "'");
  return ResampleMode::kCubicAa;
}

}  // namespace uh

namespace uh::shapes {

Tensor upsample(std::string_view op, const Tensor& self, const Dims& output_size, int64_t dims,
                bool takes_bytes) {
  check(output_size.ndim() == dims, op, ": it is expected that output_size has ", dims,
        " elements, but got ", output_size);
  check(self.ndim() == dims + 2, op, ": it is expected that the input has ", dims + 2,
        " dimensions, but got ", self.sizes());
  Dims sizes = self.sizes();
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t out = output_size[static_cast<size_t>(i)];
    check(self.size(i + 2) > 0 && out > 0, op,
          ": input and output sizes should be greater than 0, but got input ", self.sizes(),
          " and output ", output_size);
    check(self.size(i + 2) <= INT32_MAX, op, ": sizes above 2^31 are not supported, got ",
          self.sizes());
    sizes[static_cast<size_t>(i + 2)] = out;
  }
  check(self.numel() != 0 || self.size(1) != 0, op, ": non-empty ", dims + 2,
        "D data tensor expected but got a tensor with sizes ", self.sizes());
  check_kind(is_floating(self.dtype()) || (takes_bytes && self.dtype() == DType::kUInt8),
             ErrorKind::kNotImplemented, "\"", op, "\" not implemented for '",
             info(self.dtype()).title, "'");
  checked_numel(sizes, op);
  return empty_in_format_of(self, sizes, self.dtype());
}

Tensor upsample_backward(const Tensor& grad_output, const Dims& input_sizes,
                         const std::vector<double>& factors, const std::string& mode) {
  check(!factors.empty() && factors.size() <= 3 && input_sizes.size() == factors.size() + 2 &&
            grad_output.sizes().size() == input_sizes.size() &&
            grad_output.size(0) == input_sizes[0] && grad_output.size(1) == input_sizes[1],
        "_upsample_backward: grad_output of sizes ", grad_output.sizes(), " and an input of ",
        input_sizes, " do not belong together");
  check_kind(is_floating(grad_output.dtype()), ErrorKind::kNotImplemented,
             "\"_upsample_backward\" not implemented for '", info(grad_output.dtype()).title, "'");
  resample_mode(mode);
  return empty(input_sizes, grad_output.dtype(), grad_output.device());
}

}  // namespace uh::shapes

namespace uh::kernels {
namespace {

// Returns the output size: the argument, or the input's times the factors, rounded down.
Dims target_size(const Tensor& input, const std::optional<Dims>& output_size,
                 const std::optional<std::vector<double>>& factors, int64_t dims,
                 std::string_view op) {
  check(output_size.has_value() != factors.has_value(), op,
        ": must specify exactly one of output_size and scale_factors");
  if (output_size) return *output_size;
  check(input.ndim() == dims + 2 && static_cast<int64_t>(factors->size()) == dims, op,
        ": expected ", dims, " scale factors and ", dims + 2, " dimensions, but got ",
        factors->size(), " factors and input ", input.sizes());
  Dims sizes;
  for (int64_t i = 0; i < dims; ++i) {
    const double size = static_cast<double>(input.size(i + 2)) * (*factors)[static_cast<size_t>(i)];
    check(std::abs(size) < 9.2e18, op,
          ": value cannot be converted to type int64 without overflow: ", size);
    sizes.push_back(static_cast<int64_t>(size));
  }
  return sizes;
}

Scales scales_of(const std::optional<std::vector<double>>& factors, int64_t dims) {
  Scales scales(static_cast<size_t>(dims));
  if (factors)
    for (size_t i = 0; i < scales.size() && i < factors->size(); ++i) scales[i] = (*factors)[i];
  return scales;
}

}  // namespace

using Factors = std::optional<std::vector<double>>;
using MaybeSize = std::optional<Dims>;

#define UH_NEAREST(name, op)                                                                       \
  Tensor name##1d_vec(KeySet, const Tensor& input, const MaybeSize& size, const Factors& f) {      \
    const Scales s = scales_of(f, 1);                                                              \
    return ops::op##1d(input, target_size(input, size, f, 1, #name "1d"), s[0]);                   \
  }                                                                                                \
  Tensor name##2d_vec(KeySet, const Tensor& input, const MaybeSize& size, const Factors& f) {      \
    const Scales s = scales_of(f, 2);                                                              \
    return ops::op##2d(input, target_size(input, size, f, 2, #name "2d"), s[0], s[1]);             \
  }                                                                                                \
  Tensor name##3d_vec(KeySet, const Tensor& input, const MaybeSize& size, const Factors& f) {      \
    const Scales s = scales_of(f, 3);                                                              \
    return ops::op##3d(input, target_size(input, size, f, 3, #name "3d"), s[0], s[1], s[2]);       \
  }
UH_NEAREST(upsample_nearest, upsample_nearest)
UH_NEAREST(upsample_nearest_exact, _upsample_nearest_exact)
#undef UH_NEAREST

Tensor upsample_linear1d_vec(KeySet, const Tensor& input, const MaybeSize& size, bool align,
                             const Factors& factors) {
  const Scales s = scales_of(factors, 1);
  return ops::upsample_linear1d(input, target_size(input, size, factors, 1, "upsample_linear1d"),
                                align, s[0]);
}
Tensor upsample_trilinear3d_vec(KeySet, const Tensor& input, const MaybeSize& size, bool align,
                                const Factors& factors) {
  const Scales s = scales_of(factors, 3);
  return ops::upsample_trilinear3d(
      input, target_size(input, size, factors, 3, "upsample_trilinear3d"), align, s[0], s[1], s[2]);
}

#define UH_IMAGE(name, op)                                                                         \
  Tensor name##_vec(KeySet, const Tensor& input, const MaybeSize& size, bool align,                \
                    const Factors& f) {                                                            \
    const Scales s = scales_of(f, 2);                                                              \
    return ops::op(input, target_size(input, size, f, 2, #name), align, s[0], s[1]);               \
  }
UH_IMAGE(upsample_bilinear2d, upsample_bilinear2d)
UH_IMAGE(upsample_bicubic2d, upsample_bicubic2d)
UH_IMAGE(upsample_bilinear2d_aa, _upsample_bilinear2d_aa)
UH_IMAGE(upsample_bicubic2d_aa, _upsample_bicubic2d_aa)
#undef UH_IMAGE

}  // namespace uh::kernels
