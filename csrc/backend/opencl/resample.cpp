// Upsampling on an OpenCL device, and its gradient: the same kernel with transposed tables.
#include <cstring>

#include "backend/opencl/copy.h"
#include "backend/opencl/kernel_calls.h"
#include "backend/opencl/registration.h"
#include "backend/opencl/transfer.h"
#include "generated/structured/resample.h"
#include "ops/resample/mode.h"
#include "ops/resample/taps.h"

namespace uh::opencl {
namespace {

// The struct that resample.cl declares.
struct Axes {
  int64_t from[3], to[3], offsets[3], sources[3], weights[3];
};

// The tables of all dimensions. Entry k of element o is one of its sources, with a weight.
template <class T>
class Tables {
 public:
  void add(size_t axis, int64_t from, const std::vector<std::vector<std::pair<int32_t, T>>>& sums) {
    axes_.from[axis] = from;
    axes_.to[axis] = static_cast<int64_t>(sums.size());
    axes_.offsets[axis] = static_cast<int64_t>(entries_.size());
    int32_t begin = 0;
    for (const auto& sum : sums) {
      entries_.push_back(begin);
      begin += static_cast<int32_t>(sum.size());
    }
    entries_.push_back(begin);
    axes_.sources[axis] = static_cast<int64_t>(entries_.size());
    axes_.weights[axis] = static_cast<int64_t>(weights_.size());
    for (const auto& sum : sums) {
      for (const auto& [source, weight] : sum) {
        entries_.push_back(source);
        weights_.push_back(weight);
      }
    }
  }
  const Axes& axes() const { return axes_; }
  Tensor entries(Device device) const { return stored(entries_, DType::kInt32, device); }
  Tensor weights(Device device) const { return stored(weights_, dtype_of<T>::value, device); }

 private:
  template <class V>
  static Tensor stored(const std::vector<V>& values, DType dtype, Device device) {
    const Tensor t = empty(Dims{static_cast<int64_t>(values.size())}, dtype, device);
    write(t.address(), values.data(), values.size() * sizeof(V), device_of(device));
    return t;
  }

  Axes axes_{};
  std::vector<int32_t> entries_;
  std::vector<T> weights_;
};

// `small` is the input of the upsampling, `large` its result; `backwards` sums the large one.
template <class T>
Tables<T> tables_of(const Tensor& small, const Tensor& large, const Scales& scales,
                    ResampleMode mode, bool align_corners, bool backwards) {
  Tables<T> tables;
  const auto dims = static_cast<int64_t>(scales.size());
  for (size_t a = 0; a < 3; ++a) {
    const int64_t i = static_cast<int64_t>(a) + dims - 3;
    if (i < 0) {
      tables.add(a, 1, {{{0, T(1)}}});
      continue;
    }
    const int64_t from = small.size(i + 2), to = large.size(i + 2);
    const auto scale = used_scale(from, to, scales[static_cast<size_t>(i)], mode, scales.size());
    const Taps<T> taps = make_taps<T>(from, to, scale, mode, align_corners);
    std::vector<std::vector<std::pair<int32_t, T>>> sums(
        static_cast<size_t>(backwards ? from : to));
    for (int64_t o = 0; o < to; ++o) {
      for (int64_t k = 0; k < (taps.is_identity ? 1 : taps.taps); ++k) {
        const auto at = static_cast<size_t>(k * to + o);
        const auto source = taps.is_identity ? static_cast<int32_t>(o) : taps.index[at];
        const T weight = taps.is_identity ? T(1) : taps.weight[at];
        if (weight == 0) continue;
        if (backwards)
          sums[static_cast<size_t>(source)].emplace_back(static_cast<int32_t>(o), weight);
        else
          sums[static_cast<size_t>(o)].emplace_back(source, weight);
      }
    }
    tables.add(a, backwards ? to : from, sums);
  }
  return tables;
}

template <class T>
void run(const Tensor& in, const Tables<T>& tables, const Tensor& out) {
  static const Source source{sources::resample, "resample"};
  const Device device = out.device();
  launch_items(source.kernel(device, computes(out.dtype())), out.numel(), in, out,
               tables.entries(device), tables.weights(device), tables.axes());
}

void resample(const Tensor& self, const Scales& scales, ResampleMode mode, bool align_corners,
              const Tensor& result) {
  if (result.numel() == 0) return;
  const DenseResult out(result);
  if (self.dtype() == DType::kFloat64)
    run(contiguous(self), tables_of<double>(self, result, scales, mode, align_corners, false),
        out.tensor());
  else
    run(contiguous(self), tables_of<float>(self, result, scales, mode, align_corners, false),
        out.tensor());
  out.store();
}

using Factor = std::optional<double>;

template <ResampleMode mode>
void copied1d(const Tensor& self, const Dims&, Factor w, const Tensor& result) {
  resample(self, {w}, mode, false, result);
}
template <ResampleMode mode>
void copied2d(const Tensor& self, const Dims&, Factor h, Factor w, const Tensor& result) {
  resample(self, {h, w}, mode, false, result);
}
template <ResampleMode mode>
void copied3d(const Tensor& self, const Dims&, Factor d, Factor h, Factor w, const Tensor& result) {
  resample(self, {d, h, w}, mode, false, result);
}
void linear1d(const Tensor& self, const Dims&, bool align, Factor w, const Tensor& result) {
  resample(self, {w}, ResampleMode::kLinear, align, result);
}
template <ResampleMode mode>
void image(const Tensor& self, const Dims&, bool align, Factor h, Factor w, const Tensor& result) {
  resample(self, {h, w}, mode, align, result);
}
void linear3d(const Tensor& self, const Dims&, bool align, Factor d, Factor h, Factor w,
              const Tensor& result) {
  resample(self, {d, h, w}, ResampleMode::kLinear, align, result);
}

void upsample_backward(const Tensor& grad, const Dims&, const std::vector<double>& factors,
                       const std::string& mode_name, bool align_corners, const Tensor& result) {
  if (result.numel() == 0) return;
  const ResampleMode mode = resample_mode(mode_name);
  const Scales scales(factors.begin(), factors.end());
  if (grad.dtype() == DType::kFloat64)
    run(contiguous(grad), tables_of<double>(result, grad, scales, mode, align_corners, true),
        result);
  else
    run(contiguous(grad), tables_of<float>(result, grad, scales, mode, align_corners, true),
        result);
}

}  // namespace

void register_resample() {
  namespace s = structured;
  constexpr auto kNearest = ResampleMode::kNearest, kExact = ResampleMode::kNearestExact;
#define UH_COPIED(rank)                                                                            \
  register_partial<ops::upsample_nearest##rank##d_op, kFloatingFirst,                              \
                   s::upsample_nearest##rank##d<copied##rank##d<kNearest>>>(                       \
      "opencl upsample_nearest" #rank "d");                                                        \
  register_partial<ops::_upsample_nearest_exact##rank##d_op, kFloatingFirst,                       \
                   s::_upsample_nearest_exact##rank##d<copied##rank##d<kExact>>>(                  \
      "opencl _upsample_nearest_exact" #rank "d");
  UH_COPIED(1)
  UH_COPIED(2)
  UH_COPIED(3)
#undef UH_COPIED
  register_partial<ops::upsample_linear1d_op, kFloatingFirst, s::upsample_linear1d<linear1d>>(
      "opencl upsample_linear1d");
  register_partial<ops::upsample_trilinear3d_op, kFloatingFirst, s::upsample_trilinear3d<linear3d>>(
      "opencl upsample_trilinear3d");
#define UH_IMAGE(name, mode)                                                                       \
  register_partial<ops::name##_op, kFloatingFirst, s::name<image<ResampleMode::mode>>>(            \
      "opencl " #name);
  UH_IMAGE(upsample_bilinear2d, kLinear)
  UH_IMAGE(upsample_bicubic2d, kCubic)
  UH_IMAGE(_upsample_bilinear2d_aa, kLinearAa)
  UH_IMAGE(_upsample_bicubic2d_aa, kCubicAa)
#undef UH_IMAGE
  register_partial<ops::_upsample_backward_op, kFloatingFirst,
                   s::_upsample_backward<upsample_backward>>("opencl _upsample_backward");
}

}  // namespace uh::opencl
