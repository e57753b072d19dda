// The upsample operators: a plane is resampled along its rows, then across them, then in depth.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/resample/taps.h"
#include "backend/cpu/resample_loops.h"
#include "base/parallel.h"
#include "generated/kernels/resample.h"
#include "generated/ops/resample.h"
#include "ops/suggested_format.h"

namespace uh::kernels {
namespace {

using Scales = std::vector<std::optional<double>>;  // outermost dimension first

template <class T>
const ResampleLoops<T>& loops_of() {
  if constexpr (std::is_same_v<T, uint8_t>)
    return byte_resample_loops();
  else if constexpr (std::is_same_v<T, float>)
    return float_resample_loops();
  else
    return double_resample_loops();
}

template <class T>
struct Resampler {
  static constexpr bool kBytes = std::is_same_v<T, uint8_t>;
  std::array<Taps<T>, 3> axes;  // depth, height, width
  const ResampleLoops<T>& loops = loops_of<T>();

  int64_t in_plane() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t out_plane() const { return axes[0].out * axes[1].out * axes[2].out; }

  // `scratch` holds what is between the passes: all input rows at the new width, then the new
  // height.
  void plane(T* out, const T* in, std::vector<T>& scratch) const {
    const Taps<T>&z = axes[0], &y = axes[1], &x = axes[2];
    const int64_t rows = z.in * y.in, wide = rows * x.out, tall = z.in * y.out * x.out;
    scratch.resize(static_cast<size_t>(wide + tall));
    T* widened = z.is_identity && y.is_identity ? out : scratch.data();
    T* heightened = z.is_identity ? out : scratch.data() + wide;
    if (x.is_identity) {
      if (widened == out)
        std::memcpy(out, in, static_cast<size_t>(wide) * sizeof(T));
      else
        widened = const_cast<T*>(in);  // only read from here on
    } else {
      for (int64_t r = 0; r < rows; ++r) along(widened + r * x.out, in + r * x.in, x);
    }
    if (y.is_identity) {
      heightened = widened;
    } else {
      for (int64_t d = 0; d < z.in; ++d)
        across(heightened + d * y.out * x.out, widened + d * y.in * x.out, y, x.out);
    }
    if (!z.is_identity) across(out, heightened, z, y.out * x.out);
  }

  void along(T* out, const T* in, const Taps<T>& x) const {
    if (x.is_copy) {
      for (int64_t o = 0; o < x.out; ++o) out[o] = in[x.index[static_cast<size_t>(o)]];
    } else if constexpr (kBytes) {
      loops.pick(out, in, x.index.data(), x.weight.data(), x.taps, x.out, x.precision);
    } else {
      loops.pick(out, in, x.index.data(), x.weight.data(), x.taps, x.out);
    }
  }

  // Rows of `length` elements are summed with their weights.
  void across(T* out, const T* in, const Taps<T>& t, int64_t length) const {
    std::vector<const T*> rows(static_cast<size_t>(t.taps));
    decltype(t.weight) weights(static_cast<size_t>(t.taps));
    for (int64_t o = 0; o < t.out; ++o, out += length) {
      if (t.is_copy) {
        const T* row = in + t.index[static_cast<size_t>(o)] * length;
        std::memcpy(out, row, static_cast<size_t>(length) * sizeof(T));
        continue;
      }
      for (int64_t k = 0; k < t.taps; ++k) {
        const auto at = static_cast<size_t>(k * t.out + o);
        rows[static_cast<size_t>(k)] = in + t.index[at] * length;
        weights[static_cast<size_t>(k)] = t.weight[at];
      }
      if constexpr (kBytes)
        loops.blend(out, rows.data(), weights.data(), t.taps, length, t.precision);
      else
        loops.blend(out, rows.data(), weights.data(), t.taps, length);
    }
  }
};

template <class T>
std::array<Taps<T>, 3> make_axes(const Tensor& in, const Tensor& out, const Scales& scales,
                                 ResampleMode mode, bool align_corners) {
  const auto dims = static_cast<int64_t>(scales.size());
  std::array<Taps<T>, 3> axes;
  for (size_t a = 0; a < 3; ++a) {
    const int64_t i = static_cast<int64_t>(a) + dims - 3;  // of the dimensions that are resampled
    if (i < 0) {
      axes[a].is_identity = true;
      continue;
    }
    const int64_t from = in.size(i + 2), to = out.size(i + 2);
    std::optional<double> scale = scales[static_cast<size_t>(i)];
    // As in PyTorch, an image that keeps or doubles its size does so whatever the factor.
    if (mode == ResampleMode::kNearest && dims == 2 && (to == from || to == 2 * from))
      scale = std::nullopt;
    axes[a] = make_taps<T>(from, to, scale, mode, align_corners);
  }
  return axes;
}

template <class T>
void run(const Tensor& out, const Tensor& in, const Scales& scales, ResampleMode mode,
         bool align_corners) {
  const Resampler<T> r{make_axes<T>(in, out, scales, mode, align_corners)};
  const int64_t planes = in.size(0) * in.size(1);
  parallel_for(0, planes, 1 + 65536 / (r.out_plane() + r.in_plane()), [&](int64_t lo, int64_t hi) {
    std::vector<T> scratch;
    for (int64_t p = lo; p < hi; ++p)
      r.plane(out.data_as<T>() + p * r.out_plane(), in.data_as<T>() + p * r.in_plane(), scratch);
  });
}

Tensor upsampled(const Tensor& self, const Dims& output_size, int64_t dims, const Scales& scales,
                 ResampleMode mode, bool align_corners, std::string_view op) {
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
  const bool bytes =
      self.dtype() == DType::kUInt8 && (dims == 2 || mode <= ResampleMode::kNearestExact);
  check_kind(is_floating(self.dtype()) || bytes, ErrorKind::kNotImplemented, "\"", op,
             "\" not implemented for '", info(self.dtype()).title, "'");
  checked_numel(sizes, op);
  Tensor out = empty_in_format_of(self, sizes, self.dtype());
  if (out.is_meta() || out.numel() == 0) return out;
  const bool wide = self.dtype() == DType::kFloat64;
  const DType compute = wide || bytes ? self.dtype() : DType::kFloat32;
  const Tensor in = as_contiguous(self, compute);
  const Tensor result = out.is_contiguous() && compute == out.dtype() ? out : empty(sizes, compute);
  if (bytes)
    run<uint8_t>(result, in, scales, mode, align_corners);
  else if (wide)
    run<double>(result, in, scales, mode, align_corners);
  else
    run<float>(result, in, scales, mode, align_corners);
  if (!result.is_same(out)) copy_elements(out, result);
  record_write(out);
  return out;
}

// The requested size: the argument, or the input's times the factors, rounded down.
Dims asked_size(const Tensor& input, const std::optional<Dims>& output_size,
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

// The passes of Resampler backwards: every input gets its share of the outputs it was part of.
template <class T>
struct Distributor {
  const std::array<Taps<T>, 3>& axes;

  // `in` is zeros; `scratch` holds what is between the passes.
  void plane(T* in, const T* out, std::vector<T>& scratch) const {
    const Taps<T>&z = axes[0], &y = axes[1], &x = axes[2];
    const int64_t tall = z.in * y.out * x.out, wide = z.in * y.in * x.out;
    scratch.assign(static_cast<size_t>(tall + wide), T{});
    const T* heightened = out;
    if (!z.is_identity) {
      across(scratch.data(), out, z, y.out * x.out);
      heightened = scratch.data();
    }
    const T* widened = heightened;
    if (!y.is_identity) {
      T* to = scratch.data() + tall;
      for (int64_t d = 0; d < z.in; ++d)
        across(to + d * y.in * x.out, heightened + d * y.out * x.out, y, x.out);
      widened = to;
    }
    for (int64_t r = 0; r < z.in * y.in; ++r) along(in + r * x.in, widened + r * x.out, x);
  }

  static void along(T* in, const T* out, const Taps<T>& t) {
    if (t.is_identity) {
      std::copy_n(out, t.in, in);
      return;
    }
    for (size_t k = 0; k < t.index.size(); ++k)
      in[t.index[k]] += t.weight[k] * out[k % static_cast<size_t>(t.out)];
  }

  static void across(T* in, const T* out, const Taps<T>& t, int64_t length) {
    for (int64_t o = 0; o < t.out; ++o) {
      for (int64_t k = 0; k < t.taps; ++k) {
        const auto at = static_cast<size_t>(k * t.out + o);
        T* to = in + t.index[at] * length;
        const T* from = out + o * length;
        const T weight = t.weight[at];
        for (int64_t i = 0; i < length; ++i) to[i] += weight * from[i];
      }
    }
  }
};

template <class T>
void distribute(const Tensor& result, const Tensor& grad, const Scales& scales, ResampleMode mode,
                bool align_corners) {
  const Resampler<T> r{make_axes<T>(result, grad, scales, mode, align_corners)};
  const Distributor<T> back{r.axes};
  parallel_for(0, result.size(0) * result.size(1), 1 + 65536 / (r.out_plane() + r.in_plane()),
               [&](int64_t lo, int64_t hi) {
                 std::vector<T> scratch;
                 for (int64_t p = lo; p < hi; ++p)
                   back.plane(result.data_as<T>() + p * r.in_plane(),
                              grad.data_as<T>() + p * r.out_plane(), scratch);
               });
}

ResampleMode mode_named(const std::string& name) {
  if (name == "nearest") return ResampleMode::kNearest;
  if (name == "nearest-exact") return ResampleMode::kNearestExact;
  if (name == "linear") return ResampleMode::kLinear;
  if (name == "cubic") return ResampleMode::kCubic;
  if (name == "linear-aa") return ResampleMode::kLinearAa;
  check(name == "cubic-aa", "_upsample_backward: unknown mode '", name, "'");
  return ResampleMode::kCubicAa;
}

}  // namespace

using Factor = std::optional<double>;
using Factors = std::optional<std::vector<double>>;
using MaybeSize = std::optional<Dims>;

#define UH_NEAREST(name, op, mode)                                                                 \
  Tensor name##1d(KeySet, const Tensor& self, const Dims& size, Factor w) {                        \
    return upsampled(self, size, 1, {w}, mode, false, #name "1d");                                 \
  }                                                                                                \
  Tensor name##2d(KeySet, const Tensor& self, const Dims& size, Factor h, Factor w) {              \
    return upsampled(self, size, 2, {h, w}, mode, false, #name "2d");                              \
  }                                                                                                \
  Tensor name##3d(KeySet, const Tensor& self, const Dims& size, Factor d, Factor h, Factor w) {    \
    return upsampled(self, size, 3, {d, h, w}, mode, false, #name "3d");                           \
  }                                                                                                \
  Tensor name##1d_vec(KeySet, const Tensor& input, const MaybeSize& size, const Factors& f) {      \
    const Scales s = scales_of(f, 1);                                                              \
    return ops::op##1d(input, asked_size(input, size, f, 1, #name "1d"), s[0]);                    \
  }                                                                                                \
  Tensor name##2d_vec(KeySet, const Tensor& input, const MaybeSize& size, const Factors& f) {      \
    const Scales s = scales_of(f, 2);                                                              \
    return ops::op##2d(input, asked_size(input, size, f, 2, #name "2d"), s[0], s[1]);              \
  }                                                                                                \
  Tensor name##3d_vec(KeySet, const Tensor& input, const MaybeSize& size, const Factors& f) {      \
    const Scales s = scales_of(f, 3);                                                              \
    return ops::op##3d(input, asked_size(input, size, f, 3, #name "3d"), s[0], s[1], s[2]);        \
  }
UH_NEAREST(upsample_nearest, upsample_nearest, ResampleMode::kNearest)
UH_NEAREST(upsample_nearest_exact, _upsample_nearest_exact, ResampleMode::kNearestExact)
#undef UH_NEAREST

Tensor upsample_linear1d(KeySet, const Tensor& self, const Dims& size, bool align, Factor w) {
  return upsampled(self, size, 1, {w}, ResampleMode::kLinear, align, "upsample_linear1d");
}
Tensor upsample_linear1d_vec(KeySet, const Tensor& input, const MaybeSize& size, bool align,
                             const Factors& factors) {
  const Scales s = scales_of(factors, 1);
  return ops::upsample_linear1d(input, asked_size(input, size, factors, 1, "upsample_linear1d"),
                                align, s[0]);
}
Tensor upsample_trilinear3d(KeySet, const Tensor& self, const Dims& size, bool align, Factor d,
                            Factor h, Factor w) {
  return upsampled(self, size, 3, {d, h, w}, ResampleMode::kLinear, align, "upsample_trilinear3d");
}
Tensor upsample_trilinear3d_vec(KeySet, const Tensor& input, const MaybeSize& size, bool align,
                                const Factors& factors) {
  const Scales s = scales_of(factors, 3);
  return ops::upsample_trilinear3d(
      input, asked_size(input, size, factors, 3, "upsample_trilinear3d"), align, s[0], s[1], s[2]);
}

#define UH_IMAGE(name, op, mode)                                                                   \
  Tensor name(KeySet, const Tensor& self, const Dims& size, bool align, Factor h, Factor w) {      \
    return upsampled(self, size, 2, {h, w}, mode, align, #name);                                   \
  }                                                                                                \
  Tensor name##_vec(KeySet, const Tensor& input, const MaybeSize& size, bool align,                \
                    const Factors& f) {                                                            \
    const Scales s = scales_of(f, 2);                                                              \
    return ops::op(input, asked_size(input, size, f, 2, #name), align, s[0], s[1]);                \
  }
UH_IMAGE(upsample_bilinear2d, upsample_bilinear2d, ResampleMode::kLinear)
UH_IMAGE(upsample_bicubic2d, upsample_bicubic2d, ResampleMode::kCubic)
UH_IMAGE(upsample_bilinear2d_aa, _upsample_bilinear2d_aa, ResampleMode::kLinearAa)
UH_IMAGE(upsample_bicubic2d_aa, _upsample_bicubic2d_aa, ResampleMode::kCubicAa)
#undef UH_IMAGE

Tensor upsample_backward(KeySet, const Tensor& grad_output, const Dims& input_sizes,
                         const std::vector<double>& factors, const std::string& mode,
                         bool align_corners) {
  check(!factors.empty() && factors.size() <= 3 && input_sizes.size() == factors.size() + 2 &&
            grad_output.sizes().size() == input_sizes.size() &&
            grad_output.size(0) == input_sizes[0] && grad_output.size(1) == input_sizes[1],
        "_upsample_backward: grad_output of sizes ", grad_output.sizes(), " and an input of ",
        input_sizes, " do not belong together");
  check_kind(is_floating(grad_output.dtype()), ErrorKind::kNotImplemented,
             "\"_upsample_backward\" not implemented for '", info(grad_output.dtype()).title, "'");
  const ResampleMode resample_mode = mode_named(mode);
  Tensor out = empty(input_sizes, grad_output.dtype(), grad_output.device());
  if (out.is_meta() || out.numel() == 0) return out;
  const DType compute = grad_output.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const Tensor result = compute == out.dtype() ? out : empty(input_sizes, compute);
  fill_elements(result, ElementBytes{});
  const Tensor grad = as_contiguous(grad_output, compute);
  Scales scales(factors.begin(), factors.end());
  if (compute == DType::kFloat64)
    distribute<double>(result, grad, scales, resample_mode, align_corners);
  else
    distribute<float>(result, grad, scales, resample_mode, align_corners);
  if (!result.is_same(out)) copy_elements(out, result);
  record_write(out);
  return out;
}

}  // namespace uh::kernels
