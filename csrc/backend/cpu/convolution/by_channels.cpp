#include "backend/cpu/convolution/by_channels.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "backend/cpu/allocator.h"
#include "backend/cpu/conv_channel_loops.h"
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/copy_loops.h"
#include "base/parallel.h"
#include "memory/allocator.h"
#include "ops/convolution/axis.h"

namespace uh {
namespace {

constexpr int64_t kBandBytes = 384 << 10;  // the padded input of a task, or its output: fit L2
constexpr int64_t kMaxPartialSums = 32;    // of a weight's gradient: each adds some images

template <class T>
DataPtr allocate(int64_t n) {
  const auto count = static_cast<size_t>(std::max<int64_t>(n, 1));
  return default_allocator().allocate(count * sizeof(T));
}

// The outputs of one residue along each axis: they have the same taps.
struct OutputPart {
  std::vector<int64_t> elements;  // of the kernel, for each tap
  std::vector<int64_t> offsets;   // of each tap in the padded input, from an output's position
  DataPtr positions, targets;     // of each output in the padded input and in the output
  int64_t count = 0;              // outputs
  int64_t line = 1;               // outputs per index of the band
  int64_t row = 1, run = 1;       // outputs and taps that are adjacent in the padded input

  static const int64_t* at(const DataPtr& list, int64_t i) {
    return static_cast<const int64_t*>(list.get()) + i;
  }
  const int64_t* position(int64_t output) const { return at(positions, output); }
  const int64_t* target(int64_t output) const { return at(targets, output); }
};

// A range of the outermost axis that has more than one pixel, so that its pixels are adjacent.
struct OutputBand {
  int64_t first, end;          // outputs, divided by the step
  int64_t row, rows;           // of the padded input
  int64_t in_first, in_end;    // pixels of the input
  int64_t out_first, out_end;  // pixels of the output
  int64_t outputs() const { return out_end - out_first; }
};

// Which pixels of the padded input each output reads, and how both are cut into bands. A pixel
// takes `in_unit` elements in buffers of the padded input, and `out_unit` in those of the output.
class ChannelGeometry {
 public:
  ChannelGeometry(const Tensor& input, const Tensor& output, const Tensor& weight,
                  const ConvolutionOptions& o, int64_t in_unit, int64_t out_unit)
      : in_unit_(in_unit), out_unit_(out_unit) {
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
    in_plane = axes_[0].in * axes_[1].in * axes_[2].in;
    out_plane = axes_[0].out * axes_[1].out * axes_[2].out;
    taps = axes_[0].kernel * axes_[1].kernel * axes_[2].kernel;
    while (axis_ + 1 < kConvDims && size_[axis_] == 1 && axes_[axis_].out == 1) ++axis_;
    for (size_t a = axis_ + 1; a < kConvDims; ++a)
      in_line_ *= axes_[a].in, out_line_ *= axes_[a].out, line_ *= size_[a];
    padded = size_ != Spatial{axes_[0].in, axes_[1].in, axes_[2].in};
    make_parts();
  }

  // Cuts the output into bands that fit L2, given the bytes of a pixel; into more if there are only
  // `members` tasks otherwise, and they are worth it.
  void cut_bands(int64_t in_bytes, int64_t out_bytes, int64_t members, bool worth_more) {
    const ConvAxis& axis = axes_[axis_];
    const int64_t length = ceil_div(axis.out, step_[axis_]);
    const int64_t in_rows = kBandBytes / (line_ * in_bytes) - reach_[axis_];
    const int64_t out_rows = kBandBytes / (out_line_ * out_bytes);
    const int64_t fit = std::min(in_rows / axis.split, out_rows / step_[axis_]);
    int64_t pieces = ceil_div(length, std::max(fit, 1 + reach_[axis_]));
    const int64_t target = 2 * get_num_threads();
    if (members * pieces < target && worth_more)
      pieces = std::max(pieces, std::min(length, ceil_div(target, members)));
    band_ = ceil_div(length, pieces);
    bands = ceil_div(length, band_);
    const int64_t max_rows = (band_ - 1) * axis.split + reach_[axis_] + 1;
    in_pixels = std::min(size_[axis_], max_rows) * line_;
    out_pixels = std::min(band_ * step_[axis_], axis.out) * out_line_;
  }

  OutputBand band(int64_t index) const {
    const ConvAxis& axis = axes_[axis_];
    OutputBand b;
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

  // The positions of all input pixels in the padded input.
  DataPtr input_positions() const {
    return positions_of({axes_[0].in, axes_[1].in, axes_[2].in}, {1, 1, 1}, low_, size_, in_unit_);
  }
  // Elements of the padded input before the band, and in it.
  int64_t start(const OutputBand& b) const { return b.row * line_ * in_unit_; }
  int64_t elements(const OutputBand& b) const { return b.rows * line_ * in_unit_; }

  // Calls f(offset in the padded input, first pixel, rows, pixels per row) for the rows of each
  // slice in the band, which are adjacent in the input and the width of the padded input apart.
  template <class F>
  void for_slices(const OutputBand& b, const F& f) const {
    const int64_t slice = axes_[1].in * axes_[2].in, width = axes_[2].in;
    for (int64_t p = b.in_first; p < b.in_end;) {
      const int64_t z = p / slice, y = p % slice / width, x = p % width;
      const int64_t end = std::min(b.in_end, (z + 1) * slice), n = std::min(width, end - p);
      f(((z + low_[0]) * size_[1] + y + low_[1]) * size_[2] + x + low_[2], p, (end - p) / n, n);
      p = end;
    }
  }
  int64_t width() const { return size_[kConvDims - 1]; }

  double sums() const {  // products of an output channel and an input channel
    double sum = 0;
    for (const OutputPart& part : parts)
      sum += static_cast<double>(part.count) * static_cast<double>(part.offsets.size());
    return sum;
  }

  std::vector<OutputPart> parts;
  int64_t in_plane, out_plane, taps;     // pixels of the input and output, and of the kernel
  bool padded;                           // the padded input is larger than the input
  bool covered;                          // every output has taps
  int64_t bands, in_pixels, out_pixels;  // number of bands; pixels of the largest

 private:
  // Computes the size of the padded input along an axis; it includes pixels that no output reads.
  void measure(ConvAxis& axis, size_t a) {
    low_[a] = std::max<int64_t>(axis.low, 0);
    size_[a] = low_[a] + axis.in;
    for (size_t r = 0; r < axis.residues.size(); ++r) {
      const auto by_index = [](const ConvTap& a, const ConvTap& b) { return a.index < b.index; };
      if (axis.split == 1) std::sort(axis.taps[r].begin(), axis.taps[r].end(), by_index);
      for (ConvTap& tap : axis.taps[r]) {
        tap.index += low_[a] - axis.low;
        const int64_t last = (axis.extent(r, step_[a]) - 1) * axis.split;
        size_[a] = std::max(size_[a], last + offset(axis, tap) + 1);
        reach_[a] = std::max(reach_[a], offset(axis, tap));
      }
    }
  }
  // The tap's offset along the axis.
  static int64_t offset(const ConvAxis& axis, const ConvTap& tap) {
    return tap.index * axis.split + axis.phases[static_cast<size_t>(tap.phase)];
  }

  // Returns where n pixels, `step` apart from `first` on, are in an image of that size.
  static DataPtr positions_of(const Spatial& n, const Spatial& step, const Spatial& first,
                              const Spatial& size, int64_t unit) {
    DataPtr list = allocate<int64_t>(n[0] * n[1] * n[2]);
    auto* to = static_cast<int64_t*>(list.get());
    for (int64_t z = first[0]; z < first[0] + n[0] * step[0]; z += step[0]) {
      for (int64_t y = first[1]; y < first[1] + n[1] * step[1]; y += step[1]) {
        int64_t at = ((z * size[1] + y) * size[2] + first[2]) * unit;
        for (int64_t x = 0; x < n[2]; ++x, at += step[2] * unit) *to++ = at;
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
          OutputPart part;
          part.count = extent[0] * extent[1] * extent[2];
          if (part.count == 0) continue;
          part.positions = positions_of(extent, split, {0, 0, 0}, size_, in_unit_);
          part.targets = positions_of(extent, step_, first, out, out_unit_);
          for (size_t a = axis_ + 1; a < kConvDims; ++a) part.line *= extent[a];
          add_taps(part, residue);
          if (split[2] == 1) part.row = extent[2];
          outputs += part.count;
          parts.push_back(std::move(part));
        }
      }
    }
    covered = outputs == out_plane;
  }

  void add_taps(OutputPart& part, const std::array<size_t, kConvDims>& residue) const {
    const std::vector<ConvTap>& row = axes_[2].taps[residue[2]];
    const int64_t last = offset(axes_[2], row.back()) - offset(axes_[2], row.front());
    if (last + 1 == static_cast<int64_t>(row.size())) part.run = last + 1;
    for (const ConvTap& z : axes_[0].taps[residue[0]]) {
      for (const ConvTap& y : axes_[1].taps[residue[1]]) {
        for (const ConvTap& x : row) {
          part.elements.push_back((z.element * axes_[1].kernel + y.element) * axes_[2].kernel +
                                  x.element);
          const int64_t row = offset(axes_[0], z) * size_[1] + offset(axes_[1], y);
          part.offsets.push_back((row * size_[2] + offset(axes_[2], x)) * in_unit_);
        }
      }
    }
  }

  int64_t in_unit_, out_unit_;
  std::array<ConvAxis, kConvDims> axes_;
  Spatial step_, low_, size_, reach_{0, 0, 0};  // of outputs; padding before, and the padded input
  size_t axis_ = 0;                             // of the bands
  int64_t band_ = 1;                            // indices of that axis in a band
  int64_t in_line_ = 1, out_line_ = 1, line_ = 1;  // pixels per index of that axis
};

template <class F>
void for_tasks(int64_t tasks, double vectors, const F& f) {
  const double worth = 16384.0 * static_cast<double>(tasks) / (vectors + 1);  // a thread's wake-up
  parallel_for(0, tasks, static_cast<int64_t>(std::min(worth, 1e9)) + 1, f);
}

template <class T>
void fill(T* to, int64_t pixels, const T* value, int64_t lanes) {
  for (int64_t p = 0; p < pixels; ++p, to += lanes) std::copy_n(value, lanes, to);
}

// Every channel has its own kernel, and no channel meets another: the input is copied to pixels of
// `lanes` channels, too.
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
        blocks_(ceil_div(channels_, lanes_)),
        g_(input, output, weight, o, lanes_, lanes_),
        in_positions_(g_.input_positions()) {
    const auto copied = static_cast<double>(4 * (g_.in_plane + g_.out_plane));
    vectors_ = (g_.sums() + copied) * static_cast<double>(images_ * blocks_);
    const int64_t bytes = lanes_ * static_cast<int64_t>(sizeof(T));
    g_.cut_bands(bytes, bytes, images_ * blocks_, vectors_ > 1 << 20);
  }

  void convolve(const Tensor& out, const Tensor& input, const Tensor& weight,
                const Tensor& bias) const {
    const DataPtr weights = pack_weights(weight);
    std::vector<T> start(static_cast<size_t>(blocks_ * lanes_), T{});
    if (bias)
      load_run(start.data(), out.dtype(), bias.data(), bias.dtype(), bias.stride(0), channels_);
    for_tasks(images_ * blocks_ * g_.bands, vectors_, [&](int64_t lo, int64_t hi) {
      const DataPtr in_data = allocate<T>(g_.in_pixels * lanes_);
      const DataPtr out_data = allocate<T>(g_.out_pixels * lanes_);
      T* const sums = static_cast<T*>(out_data.get());
      for (int64_t task = lo; task < hi; ++task) {
        const OutputBand band = g_.band(task % g_.bands);
        const int64_t block = task / g_.bands % blocks_, image = task / g_.bands / blocks_;
        const T* first = start.data() + block * lanes_;
        if (!g_.covered) fill(sums, band.outputs(), first, lanes_);
        const T* in = read(static_cast<T*>(in_data.get()), input, image, block, band);
        const T* w = static_cast<const T*>(weights.get());
        for (const OutputPart& part : g_.parts) {
          const auto taps = static_cast<int64_t>(part.offsets.size());
          const int64_t p = band.first * part.line;
          const int64_t end = std::min(band.end * part.line, part.count);
          if (p < end)
            loops_.sum(sums - band.out_first * lanes_, part.target(p), w + block * taps * lanes_,
                       first, {in, part.position(p), part.offsets.data(), end - p, taps});
          w += blocks_ * taps * lanes_;
        }
        loops_.unpack(plane(out, g_.out_plane, image, block) + band.out_first, g_.out_plane, sums,
                      channels_of(block), band.outputs());
      }
    });
  }

  // Adds the images in groups, whose number does not depend on the number of threads.
  void weight_gradient(const Tensor& out, const Tensor& rows, const Tensor& columns) const {
    const int64_t taps = g_.taps, size = taps * lanes_;
    const int64_t groups = std::min(images_, kMaxPartialSums);
    const DataPtr partial = allocate<T>(groups * blocks_ * size);
    T* const sums = static_cast<T*>(partial.get());
    std::fill_n(sums, groups * blocks_ * size, T{});
    for_tasks(groups * blocks_, vectors_, [&](int64_t lo, int64_t hi) {
      const DataPtr in_data = allocate<T>(g_.in_pixels * lanes_);
      const DataPtr row_data = allocate<T>(g_.out_pixels * lanes_);
      T *const in = static_cast<T*>(in_data.get()), *const row = static_cast<T*>(row_data.get());
      for (int64_t task = lo; task < hi; ++task) {
        const int64_t block = task % blocks_, group = task / blocks_;
        for (int64_t n = images_ * group / groups; n < images_ * (group + 1) / groups; ++n)
          for (int64_t i = 0; i < g_.bands; ++i)
            add_products(sums + task * size, in, row, rows, columns, n, block, g_.band(i));
      }
    });
    for (int64_t i = blocks_ * size; i < groups * blocks_ * size; ++i)
      sums[i % (blocks_ * size)] += sums[i];
    T* const to = out.data_as<T>();
    for (int64_t c = 0; c < channels_; ++c)
      for (int64_t k = 0; k < taps; ++k)
        to[c * taps + k] = sums[(c / lanes_ * taps + k) * lanes_ + c % lanes_];
  }

 private:
  int64_t channels_of(int64_t block) const { return std::min(lanes_, channels_ - block * lanes_); }
  T* plane(const Tensor& t, int64_t size, int64_t image, int64_t block) const {
    return t.data_as<T>() + (image * channels_ + block * lanes_) * size;
  }

  // Copies a band of the input, and returns where a whole padded input would begin.
  const T* read(T* to, const Tensor& input, int64_t image, int64_t block,
                const OutputBand& b) const {
    if (g_.padded) std::fill_n(to, g_.elements(b), T{});
    T* const origin = to - g_.start(b);
    if (b.in_first < b.in_end)
      loops_.pack(origin, OutputPart::at(in_positions_, b.in_first),
                  plane(input, g_.in_plane, image, block) + b.in_first, g_.in_plane,
                  channels_of(block), b.in_end - b.in_first);
    return origin;
  }

  void add_products(T* sums, T* in_data, T* row_data, const Tensor& rows, const Tensor& columns,
                    int64_t image, int64_t block, const OutputBand& b) const {
    const OutputPart& part = g_.parts[0];
    const int64_t p = b.out_first;
    loops_.pack(row_data - p * lanes_, part.target(p), plane(rows, g_.out_plane, image, block) + p,
                g_.out_plane, channels_of(block), b.outputs());
    const T* in = read(in_data, columns, image, block, b);
    loops_.sum_products(sums, row_data,
                        {in, part.position(p), part.offsets.data(), b.outputs(), g_.taps});
  }

  // Packs weights as [part][block][tap][channel], padded with zeros.
  DataPtr pack_weights(const Tensor& weight) const {
    DataPtr data = allocate<T>(g_.taps * blocks_ * lanes_);
    T* to = static_cast<T*>(data.get());
    for (const OutputPart& part : g_.parts) {
      for (int64_t block = 0; block < blocks_; ++block) {
        const T* from = weight.data_as<T>() + block * lanes_ * g_.taps;
        const int64_t channels = channels_of(block);
        for (const int64_t element : part.elements) {
          for (int64_t c = 0; c < channels; ++c) to[c] = from[c * g_.taps + element];
          std::fill(to + channels, to + lanes_, T{});
          to += lanes_;
        }
      }
    }
    return data;
  }

  const Loops& loops_;
  int64_t lanes_, images_, channels_, blocks_;  // a block is a vector of channels
  ChannelGeometry g_;
  DataPtr in_positions_;  // of each input pixel in the padded input
  double vectors_;        // products of vectors, and about as much work
};

// Each output channel sums all input channels of its group. An input is a number, multiplied by the
// weights of 1 or 2 vectors of output channels.
template <class T>
class Dense {
 public:
  using Loops = ConvChannelLoops<T>;

  Dense(const Tensor& input, const Tensor& out, const Tensor& weight, const ConvolutionOptions& o,
        const Loops& loops)
      : loops_(loops),
        lanes_(loops.lanes),
        transposed_(o.transposed),
        images_(input.size(0)),
        groups_(o.groups),
        inputs_(input.size(1) / groups_),
        outputs_(out.size(1) / groups_),
        vectors_(ceil_div(outputs_, lanes_)),
        g_(input, out, weight, o, 1, lanes_) {
    work_ = g_.sums() * static_cast<double>(images_ * groups_ * inputs_ * vectors_);
    const auto item = static_cast<int64_t>(sizeof(T));
    g_.cut_bands(inputs_ * item, 2 * lanes_ * item, images_ * groups_, work_ > 1 << 20);
    copies_ = g_.padded || g_.bands > 1;
    plane_ = copies_ ? g_.in_pixels : g_.in_plane;
    for (const OutputPart& part : g_.parts) {
      std::vector<int64_t>& list = offsets_.emplace_back();
      for (int64_t c = 0; c < inputs_; ++c)
        for (const int64_t offset : part.offsets) list.push_back(c * plane_ + offset);
    }
  }

  void convolve(const Tensor& out, const Tensor& input, const Tensor& weight,
                const Tensor& bias) const {
    const DataPtr weights = pack_weights(weight);
    std::vector<T> start(static_cast<size_t>(groups_ * outputs_ + 2 * lanes_), T{});
    if (bias)
      load_run(start.data(), out.dtype(), bias.data(), bias.dtype(), bias.stride(0), out.size(1));
    for_tasks(images_ * groups_ * g_.bands, work_, [&](int64_t lo, int64_t hi) {
      const DataPtr in_data = allocate<T>(copies_ ? g_.in_pixels * inputs_ : 0);
      const DataPtr out_data = allocate<T>(2 * g_.out_pixels * lanes_);
      T* const sums = static_cast<T*>(out_data.get());
      for (int64_t task = lo; task < hi; ++task) {
        const OutputBand band = g_.band(task % g_.bands);
        const int64_t group = task / g_.bands % groups_, image = task / g_.bands / groups_;
        const int64_t member = image * groups_ + group;
        const T* in = input.data_as<T>() + member * inputs_ * g_.in_plane;
        if (copies_) in = copy(static_cast<T*>(in_data.get()), in, band);
        for (int64_t v = 0; v < vectors_; v += 2) {
          const int64_t n = std::min<int64_t>(2, vectors_ - v), c = v * lanes_;
          sum(sums, in, static_cast<const T*>(weights.get()), start.data() + group * outputs_ + c,
              group, v, n, band);
          T* to = out.data_as<T>() + (member * outputs_ + c) * g_.out_plane + band.out_first;
          for (int64_t i = 0; i < n; ++i, to += lanes_ * g_.out_plane)
            loops_.unpack(to, g_.out_plane, sums + i * g_.out_pixels * lanes_,
                          std::min(lanes_, outputs_ - c - i * lanes_), band.outputs());
        }
      }
    });
  }

 private:
  void sum(T* sums, const T* in, const T* w, const T* start, int64_t group, int64_t vector,
           int64_t n, const OutputBand& band) const {
    const int64_t out_vector = g_.out_pixels * lanes_;
    if (!g_.covered)
      for (int64_t i = 0; i < n; ++i)
        fill(sums + i * out_vector, band.outputs(), start + i * lanes_, lanes_);
    for (size_t i = 0; i < g_.parts.size(); ++i) {
      const OutputPart& part = g_.parts[i];
      const auto taps = static_cast<int64_t>(offsets_[i].size());
      const int64_t p = band.first * part.line, end = std::min(band.end * part.line, part.count);
      if (p < end)
        loops_.sum_numbers[n - 1](sums - band.out_first * lanes_, part.target(p), out_vector,
                                  w + (group * vectors_ + vector) * taps * lanes_, start,
                                  {in, part.position(p), offsets_[i].data(), end - p, taps,
                                   std::min(part.row, end - p), part.run});
      w += groups_ * vectors_ * taps * lanes_;
    }
  }

  // Copies a band of all input channels, and returns where a whole padded input would begin.
  const T* copy(T* to, const T* from, const OutputBand& b) const {
    const auto move_rows = copy_loops().move_rows[size_class(sizeof(T))];
    if (g_.padded) std::fill_n(to, plane_ * inputs_, T{});
    T* const origin = to - g_.start(b);
    for (int64_t c = 0; c < inputs_; ++c)
      g_.for_slices(b, [&](int64_t offset, int64_t pixel, int64_t rows, int64_t n) {
        move_rows(origin + c * plane_ + offset, g_.width(), 1, from + c * g_.in_plane + pixel, n, 1,
                  rows, n);
      });
    return origin;
  }

  // Packs weights as [part][group][1 or 2 vectors][input][tap][output], padded with zeros.
  DataPtr pack_weights(const Tensor& weight) const {
    DataPtr data = allocate<T>(g_.taps * inputs_ * groups_ * vectors_ * lanes_);
    T* to = static_cast<T*>(data.get());
    const int64_t blocks = ceil_div(vectors_, 2);
    for (const OutputPart& part : g_.parts) {
      const int64_t size = inputs_ * static_cast<int64_t>(part.elements.size()) * lanes_;
      parallel_for(0, groups_ * blocks, 1 + 65536 / (2 * size), [&](int64_t lo, int64_t hi) {
        for (int64_t i = lo; i < hi; ++i) {
          const int64_t group = i / blocks, v = i % blocks * 2;
          const int64_t wide = std::min<int64_t>(2, vectors_ - v) * lanes_;
          const T* from = weight.data_as<T>() + group * inputs_ * outputs_ * g_.taps +
                          v * lanes_ * output_step();
          pack_block(to + (group * vectors_ + v) * size, wide, from,
                     std::min(wide, outputs_ - v * lanes_), part.elements);
        }
      });
      to += groups_ * vectors_ * size;
    }
    return data;
  }
  // The distances between the weights of two outputs, and between those of two inputs.
  int64_t output_step() const { return g_.taps * (transposed_ ? 1 : inputs_); }
  int64_t input_step() const { return g_.taps * (transposed_ ? outputs_ : 1); }

  void pack_block(T* to, int64_t wide, const T* from, int64_t outputs,
                  const std::vector<int64_t>& elements) const {
    const auto taps = static_cast<int64_t>(elements.size());
    // All weights of an output are adjacent; if transposed, only those for one input.
    const int64_t inputs = transposed_ ? 1 : inputs_;
    if (taps < g_.taps || inputs * taps < lanes_) {
      for (int64_t i = 0; i < inputs_; ++i, from += input_step()) {
        for (const int64_t element : elements) {
          for (int64_t c = 0; c < outputs; ++c) to[c] = from[element + c * output_step()];
          std::fill(to + outputs, to + wide, T{});
          to += wide;
        }
      }
      return;
    }
    std::vector<int64_t> targets(static_cast<size_t>(inputs * taps));
    for (int64_t i = 0; i < inputs; ++i)
      for (int64_t k = 0; k < taps; ++k)
        targets[static_cast<size_t>(i * taps + elements[static_cast<size_t>(k)])] =
            (i * taps + k) * wide;
    for (int64_t i = 0; i < inputs_; i += inputs, from += inputs * input_step())
      for (int64_t c = 0; c < wide; c += lanes_)
        loops_.pack(to + i * taps * wide + c, targets.data(), from + c * output_step(),
                    output_step(), std::min(lanes_, outputs - c), inputs * taps);
  }

  const Loops& loops_;
  int64_t lanes_;
  bool transposed_;
  int64_t images_, groups_, inputs_, outputs_, vectors_;  // channels and vectors of a group
  ChannelGeometry g_;
  bool copies_;    // the input: to pad it, or because a band's channels would be far apart
  int64_t plane_;  // distance between the channels of the padded input
  std::vector<std::vector<int64_t>> offsets_;  // of each part's taps, over all input channels
  double work_;                                // products of vectors
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

bool is_depthwise(const Tensor& out, const Tensor& input, const ConvolutionOptions& options) {
  return input.size(1) == options.groups && out.size(1) == options.groups;
}

int64_t lanes_of(const Tensor& out) {
  int64_t lanes = 0;
  with_loops(out.dtype(), [&](const auto& loops) { lanes = loops.lanes; });
  return lanes;
}

// What the costs below depend on, for one image and one group. They are cycles, measured on an
// AVX-512 processor: only their ratio counts.
struct Costs {
  // `small` is the side with fewer pixels (of a forward convolution the output), `large` the other.
  Costs(const Tensor& small, const Tensor& large, const Tensor& weight, const ConvolutionOptions& o)
      : pixels(per_channel(small)), others(per_channel(large)), taps(per_channel(weight)) {
    strided = o.stride != Spatial{1, 1, 1};
    bool outermost = true;
    for (int64_t d = 2; d < weight.ndim(); ++d) {
      const size_t a = kConvDims - static_cast<size_t>(weight.ndim() - d);
      width =
          static_cast<double>(o.transposed ? ceil_div(large.size(d), o.stride[a]) : small.size(d));
      reach = static_cast<double>((weight.size(d) - 1) * o.dilation[a] / o.stride[a]);
      if (!outermost) spread *= (width + reach) / width;
      const int64_t phases = o.stride[a] / std::gcd(o.stride[a], o.dilation[a]);
      read *=
          static_cast<double>(std::min(phases, weight.size(d))) / static_cast<double>(o.stride[a]);
      if (width > 1) outermost = false;
    }
  }

  double pixels, others, taps;
  double width = 1, reach = 0;  // pixels of a row, and more of the padded input that they read
  double spread = 1;  // elements of the padded input per pixel, in the rows that vectors cover
  double read = 1;    // share of the input's pixels that the taps can meet, given the stride
  bool strided;
};

bool depthwise_pays(const Tensor& out, const Tensor& small, const Tensor& large,
                    const Tensor& weight, const ConvolutionOptions& options) {
  const Costs c(small, large, weight, options);
  const int64_t lanes = lanes_of(out);
  const double by_channels = 11 * (c.pixels + c.others) + 0.75 * c.pixels * c.taps;
  const double vectors = c.pixels * (1 + c.reach / c.width) / static_cast<double>(lanes);
  const double by_pixels =
      20 * c.pixels / c.width + vectors * (16 + 1.1 * c.taps) + (c.strided ? 1.4 * c.others : 0);
  return static_cast<double>(ceil_div(options.groups, lanes)) * by_channels <
         static_cast<double>(options.groups) * by_pixels;
}

bool dense_pays(const Tensor& out, const Tensor& input, const Tensor& weight,
                const ConvolutionOptions& o) {
  const int64_t lanes = lanes_of(out), outputs = out.size(1) / o.groups;
  const Costs c(o.transposed ? input : out, o.transposed ? out : input, weight, o);
  const double inputs = static_cast<double>(input.size(1) / o.groups);
  const double products = inputs * c.taps * (c.strided ? c.pixels : per_channel(out));
  // Here, a load of a number for each product of a single vector would take longer than it.
  const int64_t vectors = ceil_div(outputs, lanes);
  const bool shares = !c.strided && o.dilation[2] == 1 && weight.size(-1) > 1 && c.width >= 4;
  const double single = vectors % 2 == 0 ? 0 : shares ? 0.5 : 0.7;
  const double by_channels = products * (0.5 * static_cast<double>(vectors / 2 * 2) + single) +
                             7.5 * per_channel(out) * static_cast<double>(vectors) +
                             0.35 * per_channel(input) * inputs;
  // Otherwise, tiles of 8, 4, 2 and 1 channels: of all elements between the first pixel and the
  // last, or of pixels that are copied row by row. With a stride, the input is copied, too.
  const auto all = static_cast<double>(outputs), rest = static_cast<double>(outputs % 8);
  const double rate = (0.6 * all + 0.3 * rest) / static_cast<double>(lanes);
  const double blocks = std::max(1.0, all / 8);
  const double rows = 3.7 * (1 / c.width + 1 / (3.0 * static_cast<double>(lanes)));
  const double tiles = c.spread - 1 > 0.8 / blocks ? rate + rows : rate * c.spread;
  const double copied =
      o.transposed ? per_channel(out) * all : per_channel(input) * inputs * c.read;
  const double by_pixels = products * tiles + 0.26 * per_channel(out) * all +
                           (c.strided ? (0.3 + 8 / c.width) * copied : 0);
  return 1.1 * by_channels < by_pixels;
}

}  // namespace

bool channels_pay(const Tensor& out, const Tensor& input, const Tensor& weight,
                  const ConvolutionOptions& options) {
  if (!is_floating(out.dtype()) || input.numel() == 0) return false;
  if (!is_depthwise(out, input, options)) return dense_pays(out, input, weight, options);
  return options.transposed ? depthwise_pays(out, input, out, weight, options)
                            : depthwise_pays(out, out, input, weight, options);
}

void convolve_by_channels(const Tensor& out, const Tensor& input, const Tensor& weight,
                          const Tensor& bias, const ConvolutionOptions& options) {
  const Tensor x = as_contiguous(input, out.dtype()), w = as_contiguous(weight, out.dtype());
  with_loops(out.dtype(), [&]<class T>(const ConvChannelLoops<T>& loops) {
    if (is_depthwise(out, input, options))
      Depthwise<T>(x, out, w, options, loops).convolve(out, x, w, bias);
    else
      Dense<T>(x, out, w, options, loops).convolve(out, x, w, bias);
  });
}

bool channels_pay_for_weight(const Tensor& rows, const Tensor& columns, const Tensor& weight,
                             const ConvolutionOptions& options) {
  return rows.numel() > 0 && columns.numel() > 0 && is_depthwise(rows, columns, options) &&
         depthwise_pays(weight, rows, columns, weight, options);
}

void weight_by_channels(const Tensor& out, const Tensor& rows, const Tensor& columns,
                        const ConvolutionOptions& options) {
  const Tensor x = as_contiguous(columns), y = as_contiguous(rows);
  ConvolutionOptions forward = options;
  forward.transposed = false;
  with_loops(out.dtype(), [&]<class T>(const ConvChannelLoops<T>& loops) {
    Depthwise<T>(x, y, out, forward, loops).weight_gradient(out, y, x);
  });
}

}  // namespace uh
