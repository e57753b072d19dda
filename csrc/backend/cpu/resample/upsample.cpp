// The upsample operators: resample a plane along its rows, then across them, then in depth.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/resample_loops.h"
#include "base/parallel.h"
#include "generated/kernels/resample.h"
#include "ops/resample/mode.h"
#include "ops/resample/taps.h"

namespace uh::kernels {
namespace {

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

  // `scratch` holds the intermediate results: all input rows at the new width, then at the new
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
        widened = const_cast<T*>(in);  // only read from here
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

  // Computes weighted sums of rows of `length` elements.
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
    const int64_t i = static_cast<int64_t>(a) + dims - 3;  // of the resampled dimensions
    if (i < 0) {
      axes[a].is_identity = true;
      continue;
    }
    const int64_t from = in.size(i + 2), to = out.size(i + 2);
    const auto scale = used_scale(from, to, scales[static_cast<size_t>(i)], mode, scales.size());
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

void upsampled(const Tensor& self, const Scales& scales, ResampleMode mode, bool align_corners,
               const Tensor& out) {
  if (out.numel() == 0) return;
  const bool bytes = self.dtype() == DType::kUInt8;
  const bool wide = self.dtype() == DType::kFloat64;
  const DType compute = wide || bytes ? self.dtype() : DType::kFloat32;
  const Tensor in = as_contiguous(self, compute);
  const Tensor result =
      out.is_contiguous() && compute == out.dtype() ? out : empty(out.sizes(), compute);
  if (bytes)
    run<uint8_t>(result, in, scales, mode, align_corners);
  else if (wide)
    run<double>(result, in, scales, mode, align_corners);
  else
    run<float>(result, in, scales, mode, align_corners);
  if (!result.is_same(out)) copy_elements(out, result);
}

// The passes of Resampler in reverse: each input gets its weighted share of the outputs' gradients.
template <class T>
struct Distributor {
  const std::array<Taps<T>, 3>& axes;

  // `in` is zero-filled; `scratch` holds the intermediate results.
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
    const auto* index = t.index.data();
    const auto* weight = t.weight.data();
    for (int64_t k = 0; k < t.taps; ++k, index += t.out, weight += t.out)
      for (int64_t o = 0; o < t.out; ++o) in[index[o]] += weight[o] * out[o];
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

}  // namespace

using Factor = std::optional<double>;

#define UH_NEAREST(name, mode)                                                                     \
  void name##1d(const Tensor& self, const Dims&, Factor w, const Tensor& result) {                 \
    upsampled(self, {w}, mode, false, result);                                                     \
  }                                                                                                \
  void name##2d(const Tensor& self, const Dims&, Factor h, Factor w, const Tensor& result) {       \
    upsampled(self, {h, w}, mode, false, result);                                                  \
  }                                                                                                \
  void name##3d(const Tensor& self, const Dims&, Factor d, Factor h, Factor w,                     \
                const Tensor& result) {                                                            \
    upsampled(self, {d, h, w}, mode, false, result);                                               \
  }
UH_NEAREST(upsample_nearest, ResampleMode::kNearest)
UH_NEAREST(upsample_nearest_exact, ResampleMode::kNearestExact)
#undef UH_NEAREST

void upsample_linear1d(const Tensor& self, const Dims&, bool align, Factor w,
                       const Tensor& result) {
  upsampled(self, {w}, ResampleMode::kLinear, align, result);
}
void upsample_trilinear3d(const Tensor& self, const Dims&, bool align, Factor d, Factor h, Factor w,
                          const Tensor& result) {
  upsampled(self, {d, h, w}, ResampleMode::kLinear, align, result);
}

#define UH_IMAGE(name, mode)                                                                       \
  void name(const Tensor& self, const Dims&, bool align, Factor h, Factor w,                       \
            const Tensor& result) {                                                                \
    upsampled(self, {h, w}, mode, align, result);                                                  \
  }
UH_IMAGE(upsample_bilinear2d, ResampleMode::kLinear)
UH_IMAGE(upsample_bicubic2d, ResampleMode::kCubic)
UH_IMAGE(upsample_bilinear2d_aa, ResampleMode::kLinearAa)
UH_IMAGE(upsample_bicubic2d_aa, ResampleMode::kCubicAa)
#undef UH_IMAGE

void upsample_backward(const Tensor& grad_output, const Dims&, const std::vector<double>& factors,
                       const std::string& mode_name, bool align_corners, const Tensor& out) {
  if (out.numel() == 0) return;
  const ResampleMode mode = resample_mode(mode_name);
  const DType compute = grad_output.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const Tensor result = compute == out.dtype() ? out : empty(out.sizes(), compute);
  fill_elements(result, ElementBytes{});
  const Tensor grad = as_contiguous(grad_output, compute);
  const Scales scales(factors.begin(), factors.end());
  if (compute == DType::kFloat64)
    distribute<double>(result, grad, scales, mode, align_corners);
  else
    distribute<float>(result, grad, scales, mode, align_corners);
  if (!result.is_same(out)) copy_elements(out, result);
}

}  // namespace uh::kernels
