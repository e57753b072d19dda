#include "ops/convolution/convolve.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "memory/allocator.h"
#include "ops/copy/copy.h"
#include "ops/kernel/conv_loops.h"

namespace uh {
namespace {

constexpr int64_t kBufferBytes = 768 << 10;  // of input that a task works on: it stays in L2
constexpr int64_t kWeightBytes = 768 << 10;  // of weights that are used before the next pixels
constexpr size_t kX = 2;

int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }
int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

// One way to reach an input from an output along one axis: kernel element, place in the buffer.
struct Tap {
  int64_t element, phase, index;
};

// One axis. The buffer's element j of phase p is input j * split + p - low.
struct Axis {
  int64_t in, out, kernel, stride, dilation, padding;
  int64_t split = 1, low = 0;
  std::vector<int64_t> phases;         // the phases that some tap uses
  std::vector<int64_t> residues;       // of the outputs that have taps
  std::vector<std::vector<Tap>> taps;  // for each residue
  int64_t reach = 0;                   // the largest index of a tap

  int64_t extent(size_t residue, int64_t step) const {
    return residues[residue] < out ? ceil_div(out - residues[residue], step) : 0;
  }

  void connect_forward() {
    split = stride;
    low = padding;
    residues = {0};
    taps.resize(1);
    for (int64_t t = 0; t < kernel; ++t)
      taps[0].push_back({t, phase_slot(t * dilation % stride), t * dilation / stride});
    finish();
  }

  // Output o meets input i at kernel element t where o = i * stride - padding + t * dilation.
  void connect_transposed() {
    phases = {0};
    for (int64_t t = 0; t < kernel; ++t) {
      const int64_t residue = floor_mod(t * dilation - padding, stride);
      const auto found = std::find(residues.begin(), residues.end(), residue);
      const auto at = static_cast<size_t>(found - residues.begin());
      if (found == residues.end()) {
        residues.push_back(residue);
        taps.emplace_back();
      }
      taps[at].push_back({t, 0, (residue + padding - t * dilation) / stride});
    }
    int64_t least = INT64_MAX;
    for (const auto& list : taps)
      for (const Tap& tap : list) least = std::min(least, tap.index);
    for (auto& list : taps)
      for (Tap& tap : list) tap.index -= least;
    low = -least;
    finish();
  }

 private:
  int64_t phase_slot(int64_t phase) {
    const auto slot = std::find(phases.begin(), phases.end(), phase) - phases.begin();
    if (slot == static_cast<int64_t>(phases.size())) phases.push_back(phase);
    return slot;
  }
  void finish() {
    for (const auto& list : taps)
      for (const Tap& tap : list) reach = std::max(reach, tap.index);
  }
};

// The outputs of one residue along each axis: they share their taps, and so their weights.
struct Part {
  Spatial first, extent;
  std::array<const std::vector<Tap>*, kConvDims> taps;
  int64_t count = 0;  // taps of all input channels
  DataPtr weights;    // for each group and block of rows: [tap][row]
};

struct Block {  // output channels that a tile has
  int64_t channel, rows;
  int kind;
};

template <class T>
class Convolution {
 public:
  using Loops = ConvLoops<T>;

  Convolution(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
              const ConvolutionOptions& options, const Loops& loops)
      : out_(out), input_(input), weight_(weight), options_(options), loops_(loops) {
    groups_ = options.groups;
    const size_t d = weight.sizes().size() - 2;
    in_channels_ = input.size(1) / groups_;
    out_channels_ = out.size(1) / groups_;
    images_ = out.size(0);
    for (size_t a = 0; a < kConvDims; ++a) {
      const bool used = a + d >= kConvDims;
      const auto at = static_cast<int64_t>(a + d - kConvDims + 2);
      Axis& axis = axes_[a];
      axis = {used ? input.size(at) : 1,
              used ? out.size(at) : 1,
              used ? weight.size(at) : 1,
              options.stride[a],
              options.dilation[a],
              options.padding[a],
              1,
              0,
              {},
              {},
              {},
              0};
      in_stride_[a] = used ? input.stride(at) : 0;
      weight_stride_[a] = used ? weight.stride(at) : 0;
    }
    out_plane_ = axes_[0].out * axes_[1].out * axes_[2].out;
    if (input.is_contiguous()) merge_axes();
    for (Axis& axis : axes_) {
      if (options.transposed)
        axis.connect_transposed();
      else
        axis.connect_forward();
    }
    cut_channels();
    bias_.assign(static_cast<size_t>(groups_ * out_channels_) + 8, T{});
    if (bias)
      load_run(bias_.data(), out.dtype(), bias.data(), bias.dtype(), bias.stride(0), out.size(1));
  }

  void run() {
    make_parts();
    cut_tasks();
    pack_weights();
    const int64_t tasks = groups_ * image_tasks_ * bands_;
    const double worth = 65536.0 * static_cast<double>(tasks) / (work() + 1);  // a thread's wake-up
    const auto grain = static_cast<int64_t>(std::min(worth, 1e9)) + 1;
    parallel_for(0, tasks, grain, [&](int64_t lo, int64_t hi) {
      for (int64_t task = lo; task < hi; ++task) {
        const int64_t band = task % bands_, rest = task / bands_;
        run_task(rest % groups_, rest / groups_, band);
      }
    });
  }

 private:
  T* out_data() const { return reinterpret_cast<T*>(out_.data()); }
  int64_t step(size_t a) const { return options_.transposed ? axes_[a].stride : 1; }

  // A pixel that meets no other has no neighbours: all of them may lie along one axis.
  void merge_axes() {
    for (const Axis& a : axes_)
      if (a.kernel != 1 || a.stride != 1 || a.padding != 0) return;
    axes_[kX].in = axes_[kX].out = out_plane_;
    axes_[0].in = axes_[0].out = axes_[1].in = axes_[1].out = 1;
    in_stride_ = {0, 0, 1};
  }

  // Blocks of as many rows as the loops have, and smaller ones for what is left.
  void cut_channels() {
    int64_t at = 0;
    for (int kind = loops_.row_kinds - 1; kind >= 0; --kind) {
      for (const int64_t rows = int64_t{1} << kind; out_channels_ - at >= rows; at += rows)
        blocks_.push_back({at, rows, kind});
    }
    width_ = loops_.most_vectors[blocks_.front().kind] * loops_.lanes;
  }

  void make_parts() {
    bool all = true;  // whether every output has taps
    for (size_t a = 0; a < kConvDims; ++a)
      all =
          all && static_cast<int64_t>(axes_[a].residues.size()) >= std::min(step(a), axes_[a].out);
    if (!all || in_channels_ == 0) fill_with_bias();
    if (in_channels_ == 0) return;
    for (size_t z = 0; z < axes_[0].residues.size(); ++z) {
      for (size_t y = 0; y < axes_[1].residues.size(); ++y) {
        for (size_t x = 0; x < axes_[2].residues.size(); ++x) add_part({z, y, x});
      }
    }
  }

  void add_part(const std::array<size_t, kConvDims>& residue) {
    Part part;
    part.count = in_channels_;
    int64_t pixels = 1;
    for (size_t a = 0; a < kConvDims; ++a) {
      part.first[a] = axes_[a].residues[residue[a]];
      part.extent[a] = axes_[a].extent(residue[a], step(a));
      part.taps[a] = &axes_[a].taps[residue[a]];
      part.count *= static_cast<int64_t>(part.taps[a]->size());
      pixels *= part.extent[a];
    }
    if (pixels == 0) return;
    for (size_t a = 0; a < kConvDims; ++a) most_[a] = std::max(most_[a], part.extent[a]);
    parts_.push_back(std::move(part));
  }

  void fill_with_bias() {
    parallel_for(0, images_ * out_.size(1), 1 + 65536 / (out_plane_ + 1),
                 [&](int64_t lo, int64_t hi) {
                   for (int64_t i = lo; i < hi; ++i)
                     std::fill_n(out_data() + i * out_plane_, out_plane_,
                                 bias_[static_cast<size_t>(i % out_.size(1))]);
                 });
  }

  // A task is a group of channels, some images and a band of the outermost axis that has a length.
  void cut_tasks() {
    if (parts_.empty()) return;
    band_axis_ = most_[0] > 1 ? 0 : most_[1] > 1 ? 1 : 2;
    int64_t line =
        in_channels_ * static_cast<int64_t>(sizeof(T));  // bytes of one index of the band
    for (size_t a = 0; a < kConvDims; ++a) {
      line *= static_cast<int64_t>(axes_[a].phases.size());
      if (a != band_axis_) line *= most_[a] + axes_[a].reach;
    }
    const int64_t halo = axes_[band_axis_].reach, length = most_[band_axis_];
    const int64_t wanted = 2 * get_num_threads();
    int64_t pieces = ceil_div(length, std::max<int64_t>(kBufferBytes / line - halo, 1 + halo));
    if (images_ * groups_ * pieces < wanted && work() > (1 << 20))
      pieces = std::max(pieces, std::min(length, ceil_div(wanted, images_ * groups_)));
    band_ = ceil_div(length, pieces);
    bands_ = ceil_div(length, band_);
    // Small images go together, so that a tile is full more often than not.
    const int64_t image_bytes = line * (length + halo);
    images_at_once_ = 1;
    if (bands_ == 1 && image_bytes < kBufferBytes / 4) {
      const int64_t pixels = most_[0] * most_[1] * most_[2];
      const int64_t useful = std::max<int64_t>(1, 16 * width_ / pixels);
      images_at_once_ = std::clamp<int64_t>(images_ * groups_ / wanted, 1,
                                            std::min(useful, kBufferBytes / image_bytes));
      images_at_once_ = std::min(images_at_once_, images_);
    }
    image_tasks_ = ceil_div(images_, images_at_once_);
  }

  double work() const {
    double sum = 0;
    for (const Part& p : parts_)
      sum += static_cast<double>(p.count) * p.extent[0] * p.extent[1] * p.extent[2];
    return sum * images_ * groups_ * out_channels_;
  }

  // ---- weights

  void pack_weights() {
    const auto* source = reinterpret_cast<const T*>(weight_.data());
    const int64_t rows_stride = weight_.stride(options_.transposed ? 1 : 0);
    const int64_t taps_stride = weight_.stride(options_.transposed ? 0 : 1);
    const int64_t total = groups_ * out_channels_;
    for (Part& part : parts_) {
      part.weights = default_allocator().allocate(
          static_cast<size_t>(std::max<int64_t>(part.count * total, 1)) * sizeof(T));
      const auto count = static_cast<int64_t>(blocks_.size());
      const int64_t grain = 1 + 32768 / (part.count * 8 + 1);
      parallel_for(0, groups_ * count, grain, [&](int64_t lo, int64_t hi) {
        for (int64_t i = lo; i < hi; ++i) {
          const int64_t g = i / count;
          const Block& b = blocks_[static_cast<size_t>(i % count)];
          // Row c of group g: forward in dimension 0 of all groups, transposed in dimension 1.
          const T* from = source + b.channel * rows_stride;
          from +=
              g * (options_.transposed ? in_channels_ * taps_stride : out_channels_ * rows_stride);
          pack_block(packed(part, g, b), part, from, b.rows, rows_stride, taps_stride);
        }
      });
    }
  }

  T* packed(const Part& part, int64_t group, const Block& block) const {
    return static_cast<T*>(part.weights.get()) +
           (group * out_channels_ + block.channel) * part.count;
  }

  void pack_block(T* to, const Part& part, const T* from, int64_t rows, int64_t rows_stride,
                  int64_t taps_stride) const {
    for (int64_t c = 0; c < in_channels_; ++c, from += taps_stride) {
      for (const Tap& z : *part.taps[0]) {
        for (const Tap& y : *part.taps[1]) {
          for (const Tap& x : *part.taps[2]) {
            const T* w = from + z.element * weight_stride_[0] + y.element * weight_stride_[1] +
                         x.element * weight_stride_[2];
            for (int64_t r = 0; r < rows; ++r) *to++ = w[r * rows_stride];
          }
        }
      }
    }
  }

  // ---- a task

  // The buffer of a task: [channel][phase z, y, x][image][z][y][x], some zeros after it.
  struct Buffer {
    const T* data = nullptr;
    DataPtr owned;
    Spatial size;   // of one phase of one image
    Spatial start;  // the first output (divided by the step) along each axis
    int64_t image = 0, images = 1;
    int64_t plane = 0;  // elements from one phase, or channel where there is one phase, to the next
    int64_t readable = 0;  // elements from data on
  };

  void run_task(int64_t group, int64_t image_task, int64_t band) const {
    Buffer b;
    b.image = image_task * images_at_once_;
    b.images = std::min(images_at_once_, images_ - b.image);
    b.start = {0, 0, 0};
    b.start[band_axis_] = band * band_;
    Spatial end = most_;
    end[band_axis_] = std::min(end[band_axis_], b.start[band_axis_] + band_);
    for (size_t a = 0; a < kConvDims; ++a) b.size[a] = end[a] - b.start[a] + axes_[a].reach;
    if (!borrow(b, group)) fill(b, group);
    Scratch scratch(*this);
    for (const Part& part : parts_) {
      Spatial extent;
      for (size_t a = 0; a < kConvDims; ++a)
        extent[a] = std::min(part.extent[a], end[a]) - b.start[a];
      if (std::min({extent[0], extent[1], extent[2]}) > 0)
        run_part(part, extent, b, group, scratch);
    }
  }

  // The input itself will do where nothing is padded, skipped or converted.
  bool borrow(Buffer& b, int64_t group) const {
    if (input_.dtype() != out_.dtype() || !input_.is_contiguous() || b.images != 1) return false;
    for (const Axis& a : axes_)
      if (a.split != 1 || a.low != 0) return false;
    Spatial in{axes_[0].in, axes_[1].in, axes_[2].in};
    for (size_t a = 0; a < kConvDims; ++a) {
      if (b.start[a] + b.size[a] > in[a]) return false;
      const bool outermost = a == 0 || b.size[0] * (a == 2 ? b.size[1] : 1) == 1;
      if (b.size[a] != in[a] && !outermost) return false;
    }
    b.plane = in[0] * in[1] * in[2];
    int64_t offset = ((b.image * groups_ + group) * in_channels_) * b.plane;
    offset += (b.start[0] * in[1] + b.start[1]) * in[2] + b.start[2];
    b.data = reinterpret_cast<const T*>(input_.data()) + offset;
    b.readable = input_.numel() - offset;
    return true;
  }

  int64_t phase_count() const {
    int64_t n = 1;
    for (const Axis& a : axes_) n *= static_cast<int64_t>(a.phases.size());
    return n;
  }

  void fill(Buffer& b, int64_t group) const {
    b.plane = b.images * b.size[0] * b.size[1] * b.size[2];
    const int64_t count = in_channels_ * phase_count() * b.plane;
    const int64_t slack = 6 * loops_.lanes;
    b.owned = default_allocator().allocate(static_cast<size_t>(count + slack) * sizeof(T));
    auto* to = static_cast<T*>(b.owned.get());
    b.data = to;
    b.readable = count + slack;
    std::memset(to + count, 0, static_cast<size_t>(slack) * sizeof(T));
    const int64_t item = itemsize(input_.dtype());
    for (int64_t c = 0; c < in_channels_; ++c) {
      for (const int64_t pz : axes_[0].phases) {
        for (const int64_t py : axes_[1].phases) {
          for (const int64_t px : axes_[2].phases) {
            for (int64_t n = 0; n < b.images; ++n) {
              const std::byte* image =
                  input_.data() + ((b.image + n) * input_.stride(0) +
                                   (group * in_channels_ + c) * input_.stride(1)) *
                                      item;
              to = fill_plane(to, b, image, pz, py, px);
            }
          }
        }
      }
    }
  }

  T* fill_plane(T* to, const Buffer& b, const std::byte* image, int64_t pz, int64_t py,
                int64_t px) const {
    const Axis& x = axes_[kX];
    const int64_t item = itemsize(input_.dtype());
    // Elements [j0, j1) of a row are in the input.
    const int64_t shift = b.start[kX] * x.split + px - x.low;  // input of element 0
    const int64_t width = b.size[kX];
    const int64_t j0 = std::clamp<int64_t>(shift >= 0 ? 0 : ceil_div(-shift, x.split), 0, width);
    const int64_t j1 =
        std::clamp<int64_t>(x.in <= shift ? 0 : ceil_div(x.in - shift, x.split), j0, width);
    const bool plain = input_.dtype() == out_.dtype() && x.split == 1 && in_stride_[kX] == 1;
    const auto input_of = [&](size_t a, int64_t j, int64_t phase) {
      return (b.start[a] + j) * axes_[a].split + phase - axes_[a].low;
    };
    const auto row_bytes = static_cast<size_t>(width) * sizeof(T);
    for (int64_t z = 0; z < b.size[0]; ++z) {
      const int64_t iz = input_of(0, z, pz);
      for (int64_t y = 0; y < b.size[1]; ++y, to += width) {
        const int64_t iy = input_of(1, y, py);
        if (iz < 0 || iz >= axes_[0].in || iy < 0 || iy >= axes_[1].in || j0 == j1) {
          std::memset(to, 0, row_bytes);
          continue;
        }
        for (int64_t j = 0; j < j0; ++j) to[j] = 0;
        for (int64_t j = j1; j < width; ++j) to[j] = 0;
        const std::byte* from = image + (iz * in_stride_[0] + iy * in_stride_[1] +
                                         (shift + j0 * x.split) * in_stride_[kX]) *
                                            item;
        if (plain)
          std::memcpy(to + j0, from, static_cast<size_t>(j1 - j0) * sizeof(T));
        else
          load_run(to + j0, out_.dtype(), from, input_.dtype(), x.split * in_stride_[kX], j1 - j0);
      }
    }
    return to;
  }

  // Memory that the tiles of a task share.
  struct Scratch {
    explicit Scratch(const Convolution& c) {
      for (const Part& p : c.parts_) most = std::max(most, p.count);
      tile.resize(static_cast<size_t>(8 * c.width_));
      offsets.resize(static_cast<size_t>(most));
    }
    T* panel(int64_t width) {
      if (!panel_.get())
        panel_ = default_allocator().allocate(static_cast<size_t>(most * width) * sizeof(T));
      return static_cast<T*>(panel_.get());
    }
    int64_t most = 0;
    std::vector<T> tile;
    std::vector<int64_t> offsets, rows;  // of the taps: in the buffer, in the panel
    int64_t row_width = 0;
    std::vector<ConvRun> runs;

   private:
    DataPtr panel_;
  };

  // Where each tap of each channel is, from a pixel's place in the buffer.
  void make_offsets(const Part& part, const Buffer& b, std::vector<int64_t>& offsets) const {
    size_t k = 0;
    const auto ny = static_cast<int64_t>(axes_[1].phases.size());
    const auto nx = static_cast<int64_t>(axes_[2].phases.size());
    const int64_t channel = phase_count() * b.plane;
    for (int64_t c = 0; c < in_channels_; ++c) {
      for (const Tap& z : *part.taps[0]) {
        for (const Tap& y : *part.taps[1]) {
          for (const Tap& x : *part.taps[2]) {
            const int64_t phase = (z.phase * ny + y.phase) * nx + x.phase;
            offsets[k++] = c * channel + phase * b.plane +
                           (z.index * b.size[1] + y.index) * b.size[2] + x.index;
          }
        }
      }
    }
  }

  // Walks the pixels of a part in a task, tile by tile.
  struct Walk {
    const Spatial& extent;
    const Buffer& buffer;
    int64_t n = 0, z = 0, y = 0, x = 0;

    bool done() const { return n == buffer.images; }
    int64_t position() const {
      return ((n * buffer.size[0] + z) * buffer.size[1] + y) * buffer.size[2] + x;
    }
    void advance(int64_t pixels) {
      x += pixels;
      if (x < extent[2]) return;
      x = 0;
      if (++y < extent[1]) return;
      y = 0;
      if (++z < extent[0]) return;
      z = 0;
      ++n;
    }
  };

  // The next tile's runs. Dense: pixels follow each other in the tile. Otherwise they keep their
  // distances in the buffer, so that a tap of the tile is one piece of it.
  int64_t next_tile(const Part& part, Walk& at, bool dense, std::vector<ConvRun>& runs) const {
    runs.clear();
    const int64_t first = at.position();
    int64_t used = 0;
    while (!at.done()) {
      const int64_t place = dense ? used : at.position() - first;
      if (place >= width_) break;
      const int64_t length = std::min(at.extent[2] - at.x, width_ - place);
      runs.push_back({place, length, at.position(), output_of(part, at)});
      at.advance(length);
      used = place + length;
    }
    return used;
  }

  int64_t output_of(const Part& part, const Walk& at) const {
    const Spatial q{at.z + at.buffer.start[0], at.y + at.buffer.start[1],
                    at.x + at.buffer.start[2]};
    int64_t offset = 0;
    for (size_t a = 0; a < kConvDims; ++a)
      offset = offset * axes_[a].out + part.first[a] + q[a] * step(a);
    return offset + at.n * out_.size(1) * out_plane_;
  }

  // Whether gathering the pixels of a tile costs less than computing what lies between them.
  bool is_dense(const Spatial& extent, const Buffer& b) const {
    const int64_t pixels = b.images * extent[0] * extent[1] * extent[2];
    const int64_t rows = b.images * b.size[0] * b.size[1];
    const double spread = static_cast<double>(std::min(rows * b.size[2], pixels * width_));
    return spread / static_cast<double>(pixels) - 1 > 0.8 / static_cast<double>(blocks_.size());
  }

  void run_part(const Part& part, const Spatial& extent, const Buffer& b, int64_t group,
                Scratch& s) const {
    make_offsets(part, b, s.offsets);
    int64_t furthest = 0;
    for (int64_t k = 0; k < part.count; ++k)
      furthest = std::max(furthest, s.offsets[static_cast<size_t>(k)]);
    const bool dense = is_dense(extent, b);
    T* const out = out_data() + (b.image * out_.size(1) + group * out_channels_) * out_plane_;
    const T* const bias = bias_.data() + group * out_channels_;
    const int64_t bytes = part.count * static_cast<int64_t>(sizeof(T));
    size_t first = 0;
    while (first < blocks_.size()) {
      size_t last = first;
      for (int64_t held = 0; last < blocks_.size() && (last == first || held < kWeightBytes);
           ++last)
        held += blocks_[last].rows * bytes;
      Walk at{extent, b};
      while (!at.done()) {
        const T* x = b.data + at.position();
        const int64_t* offsets = s.offsets.data();
        // Near the end of the input a whole tile would read what comes after it.
        const bool gathers = dense || x + furthest + width_ > b.data + b.readable;
        const int64_t used = next_tile(part, at, gathers, s.runs);
        const int64_t vectors = ceil_div(used, loops_.lanes);
        const int kind = vectors > 3 ? 3 : static_cast<int>(vectors) - 1;
        const int64_t width = Loops::kVectors[kind] * loops_.lanes;
        if (gathers) {
          x = gather(b, part, width, s);
          offsets = s.rows.data();
        }
        for (size_t i = first; i < last; ++i) {
          const Block& block = blocks_[i];
          T* const to = out + block.channel * out_plane_;
          const auto tile = loops_.tile[block.kind][kind];
          const bool straight = s.runs.size() == 1 && s.runs[0].length == width && step(kX) == 1;
          T* const target = straight ? to + s.runs[0].output : s.tile.data();
          tile(target, straight ? out_plane_ : width, packed(part, group, block), x, offsets,
               part.count, bias + block.channel);
          if (!straight)
            loops_.store(to, out_plane_, step(kX), s.tile.data(), width, block.rows, s.runs.data(),
                         static_cast<int64_t>(s.runs.size()));
        }
      }
      first = last;
    }
  }

  // Copies the taps of a tile's pixels side by side, and makes the offsets of that panel.
  const T* gather(const Buffer& b, const Part& part, int64_t width, Scratch& s) const {
    T* panel = s.panel(width_);
    loops_.pack(panel, width, b.data, s.offsets.data(), part.count, s.runs.data(),
                static_cast<int64_t>(s.runs.size()));
    if (s.rows.size() != static_cast<size_t>(part.count) || s.row_width != width) {
      s.row_width = width;
      s.rows.resize(static_cast<size_t>(part.count));
      for (size_t k = 0; k < s.rows.size(); ++k) s.rows[k] = static_cast<int64_t>(k) * width;
    }
    return panel;
  }

  const Tensor &out_, &input_, &weight_;
  const ConvolutionOptions& options_;
  const Loops& loops_;
  int64_t groups_, in_channels_, out_channels_, images_, out_plane_;
  std::array<Axis, kConvDims> axes_;
  Spatial in_stride_, weight_stride_, most_{0, 0, 0};
  std::vector<Block> blocks_;
  std::vector<Part> parts_;
  std::vector<T> bias_;
  int64_t width_ = 0;  // pixels of a full tile
  size_t band_axis_ = 0;
  int64_t band_ = 1, bands_ = 0, images_at_once_ = 1, image_tasks_ = 0;
};

template <class T>
void run(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
         const ConvolutionOptions& options, const ConvLoops<T>& loops) {
  const Tensor same = weight.dtype() == out.dtype() ? weight : as_contiguous(weight, out.dtype());
  Convolution<T>(out, input, same, bias, options, loops).run();
}

}  // namespace

void convolve(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
              const ConvolutionOptions& options) {
  if (out.numel() == 0) return;
  switch (out.dtype()) {
    case DType::kFloat32: return run(out, input, weight, bias, options, float_conv_loops());
    case DType::kFloat64: return run(out, input, weight, bias, options, double_conv_loops());
    default: return run(out, input, weight, bias, options, int_conv_loops());
  }
}

}  // namespace uh
