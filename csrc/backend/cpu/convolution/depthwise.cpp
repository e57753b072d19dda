#include "backend/cpu/convolution/depthwise.h"

#include <algorithm>
#include <vector>

#include "backend/cpu/allocator.h"
#include "backend/cpu/conv_channel_loops.h"
#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "memory/allocator.h"
#include "ops/convolution/axis.h"

namespace uh {
namespace {

constexpr int64_t kPaddedBytes = 384 << 10;  // the padded input of a task: fits L2
constexpr int64_t kMaxPartialSums = 32;      // of a weight's gradient: each adds some images

// The convolution reads images of one size, the input, and computes or pairs with images of
// another, the output. Both are copied to buffers of pixels, `lanes` channels each; the input's has
// its padding. As elsewhere, the outputs of one residue modulo the stride have the same taps.
template <class T>
class Depthwise {
 public:
  using Loops = ConvChannelLoops<T>;

  Depthwise(const Tensor& input, const Tensor& output, const Tensor& weight,
            const ConvolutionOptions& o, const Loops& loops)
      : loops_(loops),
        lanes_(loops.lanes),
        images_(input.size(0)),
        channels_(input.size(1)),
        blocks_(ceil_div(channels_, lanes_)) {
    const size_t unused = kConvDims + 2 - weight.sizes().size();
    for (size_t a = 0; a < kConvDims; ++a) {
      ConvAxis& axis = axes_[a] = ConvAxis();
      const auto size = [&](const Tensor& t) {
        return a < unused ? 1 : t.size(static_cast<int64_t>(a - unused) + 2);
      };
      axis.in = size(input), axis.out = size(output), axis.kernel = size(weight);
      axis.stride = o.stride[a], axis.dilation = o.dilation[a], axis.padding = o.padding[a];
      step_[a] = o.transposed ? axis.stride : 1;
      o.transposed ? axis.connect_transposed() : axis.connect_forward();
      measure(axis, a);
    }
    in_plane_ = axes_[0].in * axes_[1].in * axes_[2].in;
    out_plane_ = axes_[0].out * axes_[1].out * axes_[2].out;
    taps_ = axes_[0].kernel * axes_[1].kernel * axes_[2].kernel;
    choose_axis();
    places_ = offsets({axes_[0].in, axes_[1].in, axes_[2].in}, {1, 1, 1}, low_, size_);
    make_parts();
    cut_bands();
  }

  void convolve(const Tensor& out, const Tensor& input, const Tensor& weight,
                const Tensor& bias) const {
    const DataPtr weights = pack_weights(weight);
    std::vector<T> start(static_cast<size_t>(blocks_ * lanes_), T{});
    if (bias)
      load_run(start.data(), out.dtype(), bias.data(), bias.dtype(), bias.stride(0), channels_);
    for_tasks(images_ * blocks_ * bands_, [&](int64_t lo, int64_t hi) {
      const DataPtr in_data = allocate(in_elements()), out_data = allocate(out_elements());
      T* const sums = static_cast<T*>(out_data.get());
      for (int64_t task = lo; task < hi; ++task) {
        const Band band = band_at(task % bands_);
        const int64_t block = task / bands_ % blocks_, image = task / bands_ / blocks_;
        const T* first = start.data() + block * lanes_;
        if (!covered_) fill(sums, band.outputs(), first);
        const T* in = read(static_cast<T*>(in_data.get()), input, image, block, band);
        const T* w = static_cast<const T*>(weights.get());
        for (const Part& part : parts_) {
          const auto taps = static_cast<int64_t>(part.offsets.size());
          const int64_t p = band.first * part.line;
          const int64_t end = std::min(band.end * part.line, part.count);
          if (p < end)
            loops_.sum(sums - band.out_first * lanes_, part.place(p),
                       w + block * taps * lanes_, first,
                       {in, part.position(p), part.offsets.data(), end - p, taps});
          w += blocks_ * taps * lanes_;
        }
        loops_.unpack(plane(out, out_plane_, image, block) + band.out_first, out_plane_, sums,
                      channels_of(block), band.outputs());
      }
    });
  }

  // Adds the images in groups, whose number does not depend on the number of threads.
  void weight_gradient(const Tensor& out, const Tensor& rows, const Tensor& columns) const {
    const int64_t groups = std::min(images_, kMaxPartialSums), size = taps_ * lanes_;
    const DataPtr partial = allocate(groups * blocks_ * size);
    T* const sums = static_cast<T*>(partial.get());
    std::fill_n(sums, groups * blocks_ * size, T{});
    for_tasks(groups * blocks_, [&](int64_t lo, int64_t hi) {
      const DataPtr in_data = allocate(in_elements()), row_data = allocate(out_elements());
      T* const row = static_cast<T*>(row_data.get());
      for (int64_t task = lo; task < hi; ++task) {
        const int64_t block = task % blocks_, group = task / blocks_;
        for (int64_t n = images_ * group / groups; n < images_ * (group + 1) / groups; ++n)
          for (int64_t i = 0; i < bands_; ++i)
            add_products(sums + task * size, static_cast<T*>(in_data.get()), row, rows, columns, n,
                         block, band_at(i));
      }
    });
    for (int64_t i = blocks_ * size; i < groups * blocks_ * size; ++i)
      sums[i % (blocks_ * size)] += sums[i];
    T* const to = out.data_as<T>();
    for (int64_t c = 0; c < channels_; ++c)
      for (int64_t k = 0; k < taps_; ++k)
        to[c * taps_ + k] = sums[(c / lanes_ * taps_ + k) * lanes_ + c % lanes_];
  }

 private:
  // The outputs of one residue along each axis.
  struct Part {
    std::vector<int64_t> elements;  // of the kernel, for each tap
    std::vector<int64_t> offsets;   // of each tap in the input, from an output's position
    DataPtr positions, places;      // of each output in the input and in the output
    int64_t count = 0;              // outputs
    int64_t line = 1;               // outputs per index of the band
    const int64_t* position(int64_t p) const { return at(positions, p); }
    const int64_t* place(int64_t p) const { return at(places, p); }
  };

  static const int64_t* at(const DataPtr& list, int64_t i) {
    return static_cast<const int64_t*>(list.get()) + i;
  }

  // A range of the outermost axis that has more than one pixel.
  struct Band {
    int64_t first, end;          // outputs, divided by the step
    int64_t row, rows;           // rows of the padded input
    int64_t in_first, in_end;    // pixels of the input
    int64_t out_first, out_end;  // pixels of the output
    int64_t outputs() const { return out_end - out_first; }
  };

  // Computes the size of the padded input along an axis; it includes pixels that no output reads.
  void measure(ConvAxis& axis, size_t a) {
    low_[a] = std::max<int64_t>(axis.low, 0);
    size_[a] = low_[a] + axis.in;
    for (size_t r = 0; r < axis.residues.size(); ++r) {
      for (ConvTap& tap : axis.taps[r]) {
        tap.index += low_[a] - axis.low;
        size_[a] = std::max(size_[a], (axis.extent(r, step_[a]) - 1) * axis.split + at(axis, tap) + 1);
        reach_[a] = std::max(reach_[a], at(axis, tap));
      }
    }
  }
  // The tap's offset along the axis.
  static int64_t at(const ConvAxis& axis, const ConvTap& tap) {
    return tap.index * axis.split + axis.phases[static_cast<size_t>(tap.phase)];
  }

  // Returns the offsets, in a buffer of `size` pixels, of n pixels that are `step` apart.
  DataPtr offsets(const Spatial& n, const Spatial& step, const Spatial& first,
                  const Spatial& size) const {
    DataPtr list = allocate<int64_t>(n[0] * n[1] * n[2]);
    auto* to = static_cast<int64_t*>(list.get());
    for (int64_t z = first[0]; z < first[0] + n[0] * step[0]; z += step[0]) {
      for (int64_t y = first[1]; y < first[1] + n[1] * step[1]; y += step[1]) {
        int64_t at = ((z * size[1] + y) * size[2] + first[2]) * lanes_;
        for (int64_t x = 0; x < n[2]; ++x, at += step[2] * lanes_) *to++ = at;
      }
    }
    return list;
  }

  void make_parts() {
    const Spatial out{axes_[0].out, axes_[1].out, axes_[2].out};
    int64_t outputs = 0;
    for (size_t z = 0; z < axes_[0].residues.size(); ++z) {
      for (size_t y = 0; y < axes_[1].residues.size(); ++y) {
        for (size_t x = 0; x < axes_[2].residues.size(); ++x) {
          const std::array<size_t, kConvDims> residue{z, y, x};
          Spatial first, extent, split;
          for (size_t a = 0; a < kConvDims; ++a) {
            first[a] = axes_[a].residues[residue[a]];
            extent[a] = axes_[a].extent(residue[a], step_[a]);
            split[a] = axes_[a].split;
          }
          Part part;
          part.count = extent[0] * extent[1] * extent[2];
          if (part.count == 0) continue;
          part.positions = offsets(extent, split, {0, 0, 0}, size_);
          part.places = offsets(extent, step_, first, out);
          for (size_t a = axis_ + 1; a < kConvDims; ++a) part.line *= extent[a];
          add_taps(part, residue);
          outputs += part.count;
          parts_.push_back(std::move(part));
        }
      }
    }
    covered_ = outputs == out_plane_;
  }

  void add_taps(Part& part, const std::array<size_t, kConvDims>& residue) const {
    for (const ConvTap& z : axes_[0].taps[residue[0]]) {
      for (const ConvTap& y : axes_[1].taps[residue[1]]) {
        for (const ConvTap& x : axes_[2].taps[residue[2]]) {
          part.elements.push_back((z.element * axes_[1].kernel + y.element) * axes_[2].kernel +
                                  x.element);
          part.offsets.push_back(
              ((at(axes_[0], z) * size_[1] + at(axes_[1], y)) * size_[2] + at(axes_[2], x)) *
              lanes_);
        }
      }
    }
  }

  // ---- bands

  void choose_axis() {
    while (axis_ + 1 < kConvDims && size_[axis_] == 1 && axes_[axis_].out == 1) ++axis_;
    for (size_t a = axis_ + 1; a < kConvDims; ++a)
      in_line_ *= axes_[a].in, out_line_ *= axes_[a].out, line_ *= size_[a];
  }

  void cut_bands() {
    const ConvAxis& axis = axes_[axis_];
    const int64_t length = ceil_div(axis.out, step_[axis_]);
    const int64_t bytes = line_ * lanes_ * static_cast<int64_t>(sizeof(T));
    const int64_t rows = kPaddedBytes / bytes - reach_[axis_];  // of the input, read by the band
    int64_t pieces = ceil_div(length, std::max(rows / axis.split, 1 + reach_[axis_]));
    const int64_t target = 2 * get_num_threads();
    if (images_ * blocks_ * pieces < target && work() > (1 << 20))
      pieces = std::max(pieces, std::min(length, ceil_div(target, images_ * blocks_)));
    band_ = ceil_div(length, pieces);
    bands_ = ceil_div(length, band_);
  }

  Band band_at(int64_t index) const {
    const ConvAxis& axis = axes_[axis_];
    Band b;
    b.first = index * band_;
    b.end = std::min(b.first + band_, ceil_div(axis.out, step_[axis_]));
    b.row = b.first * axis.split;
    b.rows = std::min(size_[axis_], (b.end - 1) * axis.split + reach_[axis_] + 1) - b.row;
    const auto input = [&](int64_t row) {
      return std::clamp<int64_t>(row - low_[axis_], 0, axis.in) * in_line_;
    };
    b.in_first = input(b.row), b.in_end = input(b.row + b.rows);
    b.out_first = b.first * step_[axis_] * out_line_;
    b.out_end = std::min(b.end * step_[axis_], axis.out) * out_line_;
    return b;
  }
  int64_t in_elements() const {
    const int64_t rows = (band_ - 1) * axes_[axis_].split + reach_[axis_] + 1;
    return std::min(size_[axis_], rows) * line_ * lanes_;
  }
  int64_t out_elements() const {
    return std::min(band_ * step_[axis_], axes_[axis_].out) * out_line_ * lanes_;
  }

  double work() const {  // in vectors: those summed, and those transposed
    double sum = 4.0 * static_cast<double>(in_plane_ + out_plane_);
    for (const Part& part : parts_)
      sum += static_cast<double>(part.count) * static_cast<double>(part.offsets.size());
    return sum * static_cast<double>(images_ * blocks_);
  }
  template <class F>
  void for_tasks(int64_t tasks, const F& f) const {
    const double worth = 16384.0 * static_cast<double>(tasks) / (work() + 1);  // a thread's wake-up
    parallel_for(0, tasks, static_cast<int64_t>(std::min(worth, 1e9)) + 1, f);
  }

  // ---- memory

  int64_t channels_of(int64_t block) const {
    return std::min(lanes_, channels_ - block * lanes_);
  }
  T* plane(const Tensor& t, int64_t size, int64_t image, int64_t block) const {
    return t.data_as<T>() + (image * channels_ + block * lanes_) * size;
  }

  // Copies a band of the input, and returns where its first pixel would be in a whole buffer.
  const T* read(T* to, const Tensor& input, int64_t image, int64_t block, const Band& band) const {
    const int64_t pixels = band.in_end - band.in_first;
    if (pixels != band.rows * line_) std::fill_n(to, band.rows * line_ * lanes_, T{});
    T* const whole = to - band.row * line_ * lanes_;
    if (pixels > 0)
      loops_.pack(whole, at(places_, band.in_first),
                  plane(input, in_plane_, image, block) + band.in_first, in_plane_,
                  channels_of(block), pixels);
    return whole;
  }

  void fill(T* to, int64_t pixels, const T* value) const {
    for (int64_t p = 0; p < pixels; ++p, to += lanes_) std::copy_n(value, lanes_, to);
  }

  void add_products(T* sums, T* in_data, T* row_data, const Tensor& rows, const Tensor& columns,
                    int64_t image, int64_t block, const Band& band) const {
    const Part& part = parts_[0];
    const int64_t p = band.out_first;
    loops_.pack(row_data - p * lanes_, part.place(p),
                plane(rows, out_plane_, image, block) + p, out_plane_, channels_of(block),
                band.outputs());
    const T* in = read(in_data, columns, image, block, band);
    loops_.sum_products(sums, row_data,
                        {in, part.position(p), part.offsets.data(), band.outputs(), taps_});
  }

  // Packs weights as [part][block][tap][channel], padded with zeros.
  DataPtr pack_weights(const Tensor& weight) const {
    DataPtr data = allocate(taps_ * blocks_ * lanes_);
    T* to = static_cast<T*>(data.get());
    for (const Part& part : parts_) {
      for (int64_t block = 0; block < blocks_; ++block) {
        const T* from = weight.data_as<T>() + block * lanes_ * taps_;
        const int64_t channels = channels_of(block);
        for (const int64_t element : part.elements) {
          for (int64_t c = 0; c < channels; ++c) to[c] = from[c * taps_ + element];
          std::fill(to + channels, to + lanes_, T{});
          to += lanes_;
        }
      }
    }
    return data;
  }

  template <class Element = T>
  static DataPtr allocate(int64_t n) {
    const auto count = static_cast<size_t>(std::max<int64_t>(n, 1));
    return default_allocator().allocate(count * sizeof(Element));
  }

  const Loops& loops_;
  int64_t lanes_, images_, channels_, blocks_;  // a block is a vector of channels
  std::array<ConvAxis, kConvDims> axes_;
  Spatial step_, low_, size_, reach_{0, 0, 0};  // of outputs; padding before, and the padded input
  int64_t in_plane_ = 0, out_plane_ = 0, taps_ = 0;
  DataPtr places_;  // of each input pixel in the padded input
  std::vector<Part> parts_;
  bool covered_ = true;  // every output has taps
  size_t axis_ = 0;      // of the bands
  int64_t band_ = 1, bands_ = 1;
  int64_t in_line_ = 1, out_line_ = 1, line_ = 1;  // pixels per index of that axis
};

template <class F>
void with_loops(DType dtype, const F& f) {
  if (dtype == DType::kFloat64)
    f(double_conv_channel_loops());
  else
    f(float_conv_channel_loops());  // 16-bit floats are computed as float32
}

// Returns the number of pixels, or of taps.
double per_channel(const Tensor& t) {
  return static_cast<double>(t.numel()) / static_cast<double>(t.size(0) * t.size(1));
}

}  // namespace

bool is_depthwise(const Tensor& small, const Tensor& large, const Tensor& weight,
                  const ConvolutionOptions& options) {
  const int64_t channels = options.groups;
  if (!is_floating(weight.dtype()) || small.size(1) != channels || large.size(1) != channels)
    return false;
  if (small.numel() == 0 || large.numel() == 0) return false;
  int64_t lanes = 0;
  with_loops(weight.dtype(), [&](const auto& loops) { lanes = loops.lanes; });
  // Cycles per image, as measured: here, copies and sums of vectors of channels; otherwise, rows of
  // pixels, whose vectors also cover the padding between them, and copies if there is a stride.
  const double pixels = per_channel(small), others = per_channel(large), taps = per_channel(weight);
  const auto width = static_cast<double>(small.size(-1));
  const double row =
      width + static_cast<double>((weight.size(-1) - 1) * options.dilation[kConvDims - 1]);
  const bool strided = options.stride != Spatial{1, 1, 1};
  const double by_channels = 11 * (pixels + others) + 0.75 * pixels * taps;
  const double by_pixels =
      pixels / width * (20 + row / static_cast<double>(lanes) * (16 + 1.1 * taps)) +
      (strided ? 1.4 * others : 0);
  return static_cast<double>(ceil_div(channels, lanes)) * by_channels <
         static_cast<double>(channels) * by_pixels;
}

void convolve_depthwise(const Tensor& out, const Tensor& input, const Tensor& weight,
                        const Tensor& bias, const ConvolutionOptions& options) {
  const Tensor x = as_contiguous(input, out.dtype()), w = as_contiguous(weight, out.dtype());
  with_loops(out.dtype(), [&]<class T>(const ConvChannelLoops<T>& loops) {
    Depthwise<T>(x, out, w, options, loops).convolve(out, x, w, bias);
  });
}

void depthwise_weight(const Tensor& out, const Tensor& rows, const Tensor& columns,
                      const ConvolutionOptions& options) {
  const Tensor x = as_contiguous(columns), y = as_contiguous(rows);
  ConvolutionOptions forward = options;
  forward.transposed = false;
  with_loops(out.dtype(), [&]<class T>(const ConvChannelLoops<T>& loops) {
    Depthwise<T>(x, y, out, forward, loops).weight_gradient(out, y, x);
  });
}

}  // namespace uh
