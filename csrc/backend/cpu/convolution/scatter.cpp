#include "backend/cpu/convolution/scatter.h"
#include "backend/cpu/allocator.h"

#include <algorithm>
#include <vector>

#include "backend/cpu/conv_scatter_loops.h"
#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "memory/allocator.h"
#include "ops/convolution/axis.h"

namespace uh {
namespace {

// Returns the sizes along depth, height and width; 1 for missing dimensions.
Spatial spatial_of(const Tensor& t) {
  Spatial sizes{1, 1, 1};
  const auto first = static_cast<int64_t>(kConvDims) - (t.ndim() - 2);
  for (int64_t d = 2; d < t.ndim(); ++d) sizes[static_cast<size_t>(first + d - 2)] = t.size(d);
  return sizes;
}
int64_t volume(const Spatial& s) { return s[0] * s[1] * s[2]; }

template <class T>
class Scatter {
 public:
  using Loops = ConvScatterLoops<T>;

  Scatter(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
          const ConvolutionOptions& o, const Loops& loops)
      : out_(out.data_as<T>()),
        input_(as_contiguous(input, out.dtype())),
        loops_(loops),
        o_(o),
        images_(input.size(0)),
        in_channels_(input.size(1) / o.groups),
        out_channels_(out.size(1) / o.groups),
        wide_(ceil_div(out_channels_, loops.lanes) * loops.lanes),
        in_(spatial_of(input)),
        whole_(spatial_of(out)),
        kernel_(spatial_of(weight)),
        taps_(volume(kernel_)) {
    for (size_t a = 0; a < kConvDims; ++a)
      padded_[a] = std::max(whole_[a] + 2 * o.padding[a],
                            (in_[a] - 1) * o.stride[a] + (kernel_[a] - 1) * o.dilation[a] + 1);
    bias_.assign(static_cast<size_t>(out.size(1)), T{});
    if (bias)
      load_run(bias_.data(), out.dtype(), bias.data(), bias.dtype(), bias.stride(0), out.size(1));
    pack(as_contiguous(weight, out.dtype()));
    find_places();
  }

  void run() const {
    const int64_t pixels = volume(padded_), members = images_ * o_.groups;
    const double work =
        static_cast<double>(volume(in_)) * static_cast<double>(taps_ * in_channels_ * wide_);
    const auto grain = static_cast<int64_t>(std::min(262144.0 / (work + 1), 1e9)) + 1;
    parallel_for(0, members, grain, [&](int64_t lo, int64_t hi) {
      const DataPtr block = allocate(pixels * wide_);
      T* const sums = static_cast<T*>(block.get());
      for (int64_t i = lo; i < hi; ++i) {
        std::fill_n(sums, pixels * wide_, T{});
        add_image(sums, i);
        store(sums, i);
      }
    });
  }

 private:
  // Packs weights as [group][input channel][tap][output channel], padded with zeros.
  void pack(const Tensor& weight) {
    const int64_t rows = o_.groups * in_channels_;
    weights_ = allocate(rows * taps_ * wide_);
    T* to = static_cast<T*>(weights_.get());
    for (int64_t r = 0; r < rows; ++r) {
      const T* from = weight.data_as<T>() + r * out_channels_ * taps_;
      for (int64_t k = 0; k < taps_; ++k, to += wide_) {
        for (int64_t c = 0; c < out_channels_; ++c) to[c] = from[c * taps_ + k];
        std::fill(to + out_channels_, to + wide_, T{});
      }
    }
  }

  // Computes, in a buffer of the padded output, each pixel's position and each tap's offset from
  // it.
  void find_places() {
    const auto at = [&](const Spatial& p) {
      return ((p[0] * padded_[1] + p[1]) * padded_[2] + p[2]) * wide_;
    };
    const auto each = [&](const Spatial& n, const Spatial& step, std::vector<int64_t>& list) {
      for (int64_t z = 0; z < n[0]; ++z)
        for (int64_t y = 0; y < n[1]; ++y)
          for (int64_t x = 0; x < n[2]; ++x)
            list.push_back(at({z * step[0], y * step[1], x * step[2]}));
    };
    each(in_, o_.stride, positions_);
    each(kernel_, o_.dilation, offsets_);
  }

  void add_image(T* sums, int64_t member) const {
    const int64_t group = member % o_.groups, area = volume(in_);
    const T* const input = input_.data_as<T>() + member * in_channels_ * area;
    const T* const weights =
        static_cast<const T*>(weights_.get()) + group * in_channels_ * taps_ * wide_;
    typename Loops::Source from{nullptr, nullptr,       nullptr, nullptr,
                                area,    taps_ * wide_, wide_,   in_channels_};
    for (int64_t part = 0; part < wide_; part += loops_.lanes) {
      for (int64_t tap = 0; tap < taps_; tap += Loops::kMaxTaps) {
        const int64_t taps = std::min<int64_t>(Loops::kMaxTaps, taps_ - tap);
        from.weight = weights + tap * wide_ + part;
        from.offset = offsets_.data() + tap;
        int64_t pixel = 0;
        for (int kind = Loops::kPixelKinds - 1; kind >= 0; --kind) {
          for (const int64_t n = loops_.pixels[kind]; area - pixel >= n; pixel += n) {
            from.input = input + pixel;
            from.position = positions_.data() + pixel;
            loops_.tile[taps - 1][kind](sums + part, from);
          }
        }
      }
    }
  }

  // Copies the result without its padding, channel by channel.
  void store(const T* sums, int64_t member) const {
    const int64_t area = volume(whole_);
    const T* const bias = bias_.data() + member % o_.groups * out_channels_;
    T* const to = out_ + member * out_channels_ * area;
    int64_t p = 0;
    for (int64_t z = 0; z < whole_[0]; ++z) {
      for (int64_t y = 0; y < whole_[1]; ++y) {
        const T* from =
            sums +
            (((z + o_.padding[0]) * padded_[1] + y + o_.padding[1]) * padded_[2] + o_.padding[2]) *
                wide_;
        for (int64_t c = 0; c < out_channels_; ++c)
          for (int64_t x = 0; x < whole_[2]; ++x)
            to[c * area + p + x] = from[x * wide_ + c] + bias[c];
        p += whole_[2];
      }
    }
  }

  static DataPtr allocate(int64_t n) {
    return default_allocator().allocate(static_cast<size_t>(std::max<int64_t>(n, 1)) * sizeof(T));
  }

  T* const out_;
  const Tensor input_;
  const Loops& loops_;
  const ConvolutionOptions& o_;
  int64_t images_, in_channels_, out_channels_, wide_;  // channels of a group; padded
  Spatial in_, whole_, kernel_, padded_{1, 1, 1};
  int64_t taps_;
  std::vector<T> bias_;
  DataPtr weights_;
  std::vector<int64_t> positions_, offsets_;
};

}  // namespace

bool scatter_pays(const Tensor& out, const Tensor& input, const Tensor& weight,
                  const ConvolutionOptions& options) {
  if (!options.transposed || input.numel() == 0 || volume(spatial_of(weight)) == 1) return false;
  const int64_t lanes = out.dtype() == DType::kFloat32 ? float_conv_scatter_loops().lanes
                                                       : double_conv_scatter_loops().lanes;
  const int64_t channels = out.size(1) / options.groups;
  if (channels * 2 < lanes) return false;
  const double filled =
      static_cast<double>(channels) / static_cast<double>(ceil_div(channels, lanes) * lanes);
  double more = 1;  // outputs of a residue per input
  const Spatial small = spatial_of(input), large = spatial_of(out);
  for (size_t a = 0; a < kConvDims; ++a)
    more *= static_cast<double>(large[a]) / static_cast<double>(options.stride[a] * small[a]);
  return more * filled > 1.25;
}

void convolve_by_scatter(const Tensor& out, const Tensor& input, const Tensor& weight,
                         const Tensor& bias, const ConvolutionOptions& options) {
  if (out.dtype() == DType::kFloat32)
    Scatter<float>(out, input, weight, bias, options, float_conv_scatter_loops()).run();
  else
    Scatter<double>(out, input, weight, bias, options, double_conv_scatter_loops()).run();
}

}  // namespace uh
