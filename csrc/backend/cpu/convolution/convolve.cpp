#include "backend/cpu/convolution/convolve.h"
#include "backend/cpu/allocator.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/conv_loops.h"
#include "backend/cpu/convolution/by_channels.h"
#include "backend/cpu/convolution/product.h"
#include "backend/cpu/convolution/scatter.h"
#include "backend/cpu/convolution/task.h"
#include "backend/cpu/convolution/trim.h"
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/copy_loops.h"
#include "base/parallel.h"
#include "memory/allocator.h"
#include "ops/convolution/axis.h"

namespace uh {
namespace {

constexpr int64_t kBufferBytes = 768 << 10;  // input of one task: fits L2
constexpr int64_t kWeightBytes = 768 << 10;  // weights applied before moving to the next pixels
constexpr int64_t kSumBytes = 512 << 10;     // unfinished sums
constexpr int64_t kTaps = 256;               // taps per partial sum: their inputs fit L1
constexpr size_t kX = 2;
template <class T>
class Convolution {
 public:
  using Loops = ConvLoops<T>;
  using Buffer = ConvBuffer<T>;
  using Walk = ConvWalk<T>;
  using Scratch = ConvScratch<T>;

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
      ConvAxis& axis = axes_[a] = ConvAxis();
      axis.in = used ? input.size(at) : 1;
      axis.out = used ? out.size(at) : 1;
      axis.kernel = used ? weight.size(at) : 1;
      axis.stride = options.stride[a], axis.dilation = options.dilation[a];
      axis.padding = options.padding[a];
      in_stride_[a] = used ? input.stride(at) : 0;
      weight_stride_[a] = used ? weight.stride(at) : 0;
    }
    out_plane_ = axes_[0].out * axes_[1].out * axes_[2].out;
    if (input.is_contiguous()) merge_axes();
    for (ConvAxis& axis : axes_)
      options.transposed ? axis.connect_transposed() : axis.connect_forward();
    cut_channels();
    bias_.assign(static_cast<size_t>(groups_ * out_channels_) + 8, T{});
    if (bias)
      load_run(bias_.data(), out.dtype(), bias.data(), bias.dtype(), bias.stride(0), out.size(1));
  }

  void run() {
    make_parts();
    cut_tasks();
    pack_weights();
    int64_t max_taps = 0;
    for (const ConvPart& p : parts_) max_taps = std::max(max_taps, p.count);
    const int64_t tasks = groups_ * image_tasks_ * bands_;
    const double worth = 65536.0 * static_cast<double>(tasks) / (work() + 1);  // a thread's wake-up
    const auto grain = static_cast<int64_t>(std::min(worth, 1e9)) + 1;
    parallel_for(0, tasks, grain, [&](int64_t lo, int64_t hi) {
      Scratch scratch(parts_.size(), width_, std::min(max_taps, 2 * kTaps));
      for (int64_t task = lo; task < hi; ++task) {
        const int64_t band = task % bands_, rest = task / bands_;
        run_task(rest % groups_, rest / groups_, band, scratch);
      }
    });
  }

 private:
  T* out_data() const { return reinterpret_cast<T*>(out_.data()); }
  int64_t step(size_t a) const { return options_.transposed ? axes_[a].stride : 1; }

  // If every output reads one input at the same position, all pixels can be merged into one axis.
  // (With output_padding, some outputs read no input.)
  void merge_axes() {
    for (const ConvAxis& a : axes_)
      if (a.kernel != 1 || a.stride != 1 || a.padding != 0 || a.in != a.out) return;
    axes_[kX].in = axes_[kX].out = out_plane_;
    axes_[0].in = axes_[0].out = axes_[1].in = axes_[1].out = 1;
    in_stride_ = {0, 0, 1};
  }

  // Splits the output channels into blocks of the loops' row counts, largest first.
  void cut_channels() {
    int64_t at = 0;
    for (int kind = loops_.row_kinds - 1; kind >= 0; --kind) {
      for (const int64_t rows = int64_t{1} << kind; out_channels_ - at >= rows; at += rows)
        blocks_.push_back({at, rows, kind});
    }
    width_ = loops_.max_vectors[blocks_.front().kind] * loops_.lanes;
  }

  void make_parts() {
    bool all = true;  // every output has taps
    for (size_t a = 0; a < kConvDims; ++a) {
      const auto& residues = axes_[a].residues;
      const auto met = std::count_if(residues.begin(), residues.end(),
                                     [&](int64_t residue) { return residue < axes_[a].out; });
      all = all && met == std::min(step(a), axes_[a].out);
    }
    if (!all || in_channels_ == 0) fill_with_bias();
    if (in_channels_ == 0) return;
    for (size_t z = 0; z < axes_[0].residues.size(); ++z) {
      for (size_t y = 0; y < axes_[1].residues.size(); ++y) {
        for (size_t x = 0; x < axes_[2].residues.size(); ++x) add_part({z, y, x});
      }
    }
  }

  void add_part(const std::array<size_t, kConvDims>& residue) {
    ConvPart part;
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

  // Splits the work into tasks: a channel group, some images, and a band of the outermost axis
  // longer than 1.
  void cut_tasks() {
    if (parts_.empty()) return;
    band_axis_ = most_[0] > 1 ? 0 : most_[1] > 1 ? 1 : 2;
    int64_t line = in_channels_ * static_cast<int64_t>(sizeof(T));  // bytes per index of the band
    for (size_t a = 0; a < kConvDims; ++a) {
      line *= static_cast<int64_t>(axes_[a].phases.size());
      if (a != band_axis_) line *= most_[a] + axes_[a].reach;
    }
    const int64_t halo = axes_[band_axis_].reach, length = most_[band_axis_];
    const int64_t target = 2 * get_num_threads();
    int64_t pieces = ceil_div(length, std::max<int64_t>(kBufferBytes / line - halo, 1 + halo));
    if (images_ * groups_ * pieces < target && work() > (1 << 20))
      pieces = std::max(pieces, std::min(length, ceil_div(target, images_ * groups_)));
    band_ = ceil_div(length, pieces);
    bands_ = ceil_div(length, band_);
    // Small images are combined in a task, so that most tiles are full.
    const int64_t image_bytes = line * (length + halo);
    images_at_once_ = 1;
    if (bands_ == 1 && image_bytes < kBufferBytes / 4) {
      const int64_t pixels = most_[0] * most_[1] * most_[2];
      const int64_t useful = std::max<int64_t>(1, 16 * width_ / pixels);
      images_at_once_ = std::clamp<int64_t>(images_ * groups_ / target, 1,
                                            std::min(useful, kBufferBytes / image_bytes));
      images_at_once_ = std::min(images_at_once_, images_);
    }
    image_tasks_ = ceil_div(images_, images_at_once_);
  }

  double work() const {
    double sum = 0;
    for (const ConvPart& p : parts_)
      sum += static_cast<double>(p.count) * p.extent[0] * p.extent[1] * p.extent[2];
    return sum * images_ * groups_ * out_channels_;
  }

  void pack_weights() {
    const auto* source = reinterpret_cast<const T*>(weight_.data());
    const int64_t rows_stride = weight_.stride(options_.transposed ? 1 : 0);
    const int64_t taps_stride = weight_.stride(options_.transposed ? 0 : 1);
    const int64_t total = groups_ * out_channels_;
    for (ConvPart& part : parts_) {
      part.weights = default_allocator().allocate(
          static_cast<size_t>(std::max<int64_t>(part.count * total, 1)) * sizeof(T));
      const auto count = static_cast<int64_t>(blocks_.size());
      const int64_t grain = 1 + 32768 / (part.count * 8 + 1);
      parallel_for(0, groups_ * count, grain, [&](int64_t lo, int64_t hi) {
        for (int64_t i = lo; i < hi; ++i) {
          const int64_t g = i / count;
          const ConvBlock& b = blocks_[static_cast<size_t>(i % count)];
          // Row c of group g: dimension 0 over all groups if forward, dimension 1 if transposed.
          const T* from = source + b.channel * rows_stride;
          from +=
              g * (options_.transposed ? in_channels_ * taps_stride : out_channels_ * rows_stride);
          pack_block(packed(part, g, b), part, from, b.rows, rows_stride, taps_stride);
        }
      });
    }
  }

  T* packed(const ConvPart& part, int64_t group, const ConvBlock& block) const {
    return static_cast<T*>(part.weights.get()) +
           (group * out_channels_ + block.channel) * part.count;
  }

  void pack_block(T* to, const ConvPart& part, const T* from, int64_t rows, int64_t rows_stride,
                  int64_t taps_stride) const {
    switch (rows) {
      case 1: return pack_rows<1>(to, part, from, rows_stride, taps_stride);
      case 2: return pack_rows<2>(to, part, from, rows_stride, taps_stride);
      case 4: return pack_rows<4>(to, part, from, rows_stride, taps_stride);
      default: return pack_rows<8>(to, part, from, rows_stride, taps_stride);
    }
  }

  // The number of rows is a template argument: a loop over so few would cost more than the copies.
  template <int rows>
  void pack_rows(T* to, const ConvPart& part, const T* from, int64_t rows_stride,
                 int64_t taps_stride) const {
    std::vector<int64_t> offsets;
    for (const ConvTap& z : *part.taps[0])
      for (const ConvTap& y : *part.taps[1])
        for (const ConvTap& x : *part.taps[2])
          offsets.push_back(z.element * weight_stride_[0] + y.element * weight_stride_[1] +
                            x.element * weight_stride_[2]);
    for (int64_t c = 0; c < in_channels_; ++c, from += taps_stride) {
      for (const int64_t offset : offsets) {
        for (int r = 0; r < rows; ++r) to[r] = from[offset + r * rows_stride];
        to += rows;
      }
    }
  }

  void run_task(int64_t group, int64_t image_task, int64_t band, Scratch& scratch) const {
    Buffer b;
    b.image = image_task * images_at_once_;
    b.images = std::min(images_at_once_, images_ - b.image);
    b.start = {0, 0, 0};
    b.start[band_axis_] = band * band_;
    Spatial end = most_;
    end[band_axis_] = std::min(end[band_axis_], b.start[band_axis_] + band_);
    for (size_t a = 0; a < kConvDims; ++a) b.size[a] = end[a] - b.start[a] + axes_[a].reach;
    if (!borrow(b, group)) fill(b, group);
    for (const ConvPart& part : parts_) {
      Spatial extent;
      for (size_t a = 0; a < kConvDims; ++a)
        extent[a] = std::min(part.extent[a], end[a]) - b.start[a];
      if (std::min({extent[0], extent[1], extent[2]}) > 0)
        run_part(part, extent, b, group, scratch);
    }
  }

  // Reads the input in place if it needs no padding, skipping or conversion. Returns whether it
  // does.
  bool borrow(Buffer& b, int64_t group) const {
    if (input_.dtype() != out_.dtype() || !input_.is_contiguous() || b.images != 1) return false;
    for (const ConvAxis& a : axes_)
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
    for (const ConvAxis& a : axes_) n *= static_cast<int64_t>(a.phases.size());
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

  // Elements [first, last) of an axis of the buffer are inside the input, where the first is
  // `from`.
  struct Inside {
    int64_t first, last, from;
  };
  Inside inside(size_t a, const Buffer& b, int64_t phase) const {
    const ConvAxis& axis = axes_[a];
    const int64_t shift = b.start[a] * axis.split + phase - axis.low;  // input index of element 0
    const auto reaching = [&](int64_t index) {
      return index <= shift ? 0 : std::min(b.size[a], ceil_div(index - shift, axis.split));
    };
    const int64_t first = reaching(0), last = std::max(first, reaching(axis.in));
    return {first, last, shift + first * axis.split};
  }

  T* fill_plane(T* to, const Buffer& b, const std::byte* image, int64_t pz, int64_t py,
                int64_t px) const {
    const Inside z = inside(0, b, pz), y = inside(1, b, py), x = inside(kX, b, px);
    const int64_t width = b.size[kX], n = x.last - x.first, rows = y.last - y.first;
    const int64_t slice = b.size[1] * width, size = b.size[0] * slice;
    if (n * rows * (z.last - z.first) != size)
      std::memset(to, 0, static_cast<size_t>(size) * sizeof(T));
    if (n == 0 || rows == 0) return to + size;
    const int64_t item = itemsize(input_.dtype());
    const int64_t row = axes_[1].split * in_stride_[1], step = axes_[kX].split * in_stride_[kX];
    const auto move_rows = copy_loops().move_rows[size_class(item)];
    for (int64_t i = z.first; i < z.last; ++i) {
      const int64_t iz = z.from + (i - z.first) * axes_[0].split;
      const std::byte* from =
          image + (iz * in_stride_[0] + y.from * in_stride_[1] + x.from * in_stride_[kX]) * item;
      T* target = to + i * slice + y.first * width + x.first;
      if (input_.dtype() == out_.dtype()) {
        move_rows(target, width, 1, from, row, step, rows, n);
        continue;
      }
      for (int64_t r = 0; r < rows; ++r, target += width, from += row * item)
        load_run(target, out_.dtype(), from, input_.dtype(), step, n);
    }
    return to + size;
  }

  // Computes the offset of each channel's taps from a pixel's position in the buffer.
  void make_offsets(const ConvPart& part, const Buffer& b, std::vector<int64_t>& offsets) const {
    offsets.resize(static_cast<size_t>(part.count));
    size_t k = 0;
    const auto ny = static_cast<int64_t>(axes_[1].phases.size());
    const auto nx = static_cast<int64_t>(axes_[2].phases.size());
    const int64_t channel = phase_count() * b.plane;
    for (int64_t c = 0; c < in_channels_; ++c) {
      for (const ConvTap& z : *part.taps[0]) {
        for (const ConvTap& y : *part.taps[1]) {
          for (const ConvTap& x : *part.taps[2]) {
            const int64_t phase = (z.phase * ny + y.phase) * nx + x.phase;
            offsets[k++] = c * channel + phase * b.plane +
                           (z.index * b.size[1] + y.index) * b.size[2] + x.index;
          }
        }
      }
    }
  }

  // Appends the next tile's runs. If `dense`, its pixels are adjacent in the tile; else they keep
  // their distances in the buffer, so that a tap of the tile is one contiguous range of it.
  int64_t next_tile(const ConvPart& part, Walk& at, bool dense, std::vector<ConvRun>& runs) const {
    const int64_t first = at.position();
    int64_t used = 0;
    while (!at.done()) {
      const int64_t index = dense ? used : at.position() - first;
      if (index >= width_) break;
      const int64_t length = std::min(at.extent[2] - at.x, width_ - index);
      runs.push_back({index, length, at.position(), output_of(part, at)});
      at.advance(length);
      used = index + length;
    }
    return used;
  }

  int64_t output_of(const ConvPart& part, const Walk& at) const {
    const Spatial q{at.z + at.buffer.start[0], at.y + at.buffer.start[1],
                    at.x + at.buffer.start[2]};
    int64_t offset = 0;
    for (size_t a = 0; a < kConvDims; ++a)
      offset = offset * axes_[a].out + part.first[a] + q[a] * step(a);
    return offset + at.n * out_.size(1) * out_plane_;
  }

  // Returns whether gathering a tile's pixels costs less than computing the elements between them.
  bool is_dense(const Spatial& extent, const Buffer& b) const {
    const int64_t pixels = b.images * extent[0] * extent[1] * extent[2];
    const int64_t rows = b.images * b.size[0] * b.size[1];
    const double spread = static_cast<double>(std::min(rows * b.size[2], pixels * width_));
    return spread / static_cast<double>(pixels) - 1 > 0.8 / static_cast<double>(blocks_.size());
  }

  void cut_tiles(const ConvPart& part, const Spatial& extent, const Buffer& b, ConvCut& cut) const {
    const ConvCut::Shape shape{extent, b.size, b.start, b.images, b.plane, b.readable};
    if (cut.shape == shape) return;
    cut.shape = shape;
    make_offsets(part, b, cut.offsets);
    const bool dense = is_dense(extent, b);
    const int64_t furthest = *std::max_element(cut.offsets.begin(), cut.offsets.end());
    cut.tiles.clear();
    cut.runs.clear();
    Walk at{extent, b};
    while (!at.done()) {
      ConvTile tile{cut.runs.size(), 0, at.position(), 0, 0, dense};
      // Near the end of the input, a whole tile would read past it.
      tile.gathers = dense || tile.position + furthest + width_ > b.readable;
      const int64_t vectors = ceil_div(next_tile(part, at, tile.gathers, cut.runs), loops_.lanes);
      tile.kind = vectors > 3 ? 3 : static_cast<int>(vectors) - 1;
      tile.width = Loops::kVectors[tile.kind] * loops_.lanes;
      tile.runs = cut.runs.size() - tile.first_run;
      cut.tiles.push_back(tile);
    }
  }

  // Long sums are split so that the inputs and weights of a piece stay in L1 and L2. Partial sums
  // are kept in `sums`, for as many channels as fit the cache with all tiles of the task.
  void run_part(const ConvPart& part, const Spatial& extent, const Buffer& b, int64_t group,
                Scratch& s) const {
    ConvCut& cut = s.cuts[static_cast<size_t>(&part - parts_.data())];
    cut_tiles(part, extent, b, cut);
    T* const out = out_data() + (b.image * out_.size(1) + group * out_channels_) * out_plane_;
    const T* const bias = bias_.data() + group * out_channels_;
    const int64_t pieces = std::max<int64_t>(1, (part.count + kTaps / 2) / kTaps);
    const auto item = static_cast<int64_t>(sizeof(T));
    const auto tiles = static_cast<int64_t>(cut.tiles.size());
    const int64_t row_bytes = pieces == 1 ? part.count * item : tiles * width_ * item;
    const int64_t room = pieces == 1 ? kWeightBytes : kSumBytes;
    for (size_t first = 0, last = 0; first < blocks_.size(); first = last) {
      int64_t rows = 0;
      for (; last < blocks_.size() && (last == first || rows * row_bytes < room); ++last)
        rows += blocks_[last].rows;
      T* const sums = pieces == 1 ? nullptr : s.sums(tiles * width_ * rows);
      for (int64_t piece = 0; piece < pieces; ++piece) {
        const int64_t from = part.count * piece / pieces, to = part.count * (piece + 1) / pieces;
        T* sum_buffer = sums;
        for (const ConvTile& tile : cut.tiles) {
          const ConvRun* runs = cut.runs.data() + tile.first_run;
          const T* x = b.data + tile.position;
          const int64_t* offsets = cut.offsets.data() + from;
          if (tile.gathers) {
            x = gather(b, from, to, tile, cut, s);
            offsets = s.rows.data();
          }
          for (size_t i = first; i < last; ++i) {
            const ConvBlock& block = blocks_[i];
            const T* weights = packed(part, group, block) + from * block.rows;
            const T* start = piece == 0 ? bias + block.channel : nullptr;
            T* const target = out + block.channel * out_plane_;
            const bool straight =
                pieces == 1 && tile.runs == 1 && runs->length == tile.width && step(kX) == 1;
            T* const slot = straight     ? target + runs->output
                            : sum_buffer ? sum_buffer
                                         : s.tile.data();
            loops_.tile[block.kind][tile.kind](slot, straight ? out_plane_ : tile.width, weights, x,
                                               offsets, to - from, start);
            if (!straight && piece == pieces - 1)
              loops_.store(target, out_plane_, step(kX), slot, tile.width, block.rows, runs,
                           static_cast<int64_t>(tile.runs));
            if (sum_buffer) sum_buffer += block.rows * width_;
          }
        }
      }
    }
  }

  // Copies the taps of a tile's pixels to a panel, and sets the panel's offsets.
  const T* gather(const Buffer& b, int64_t from, int64_t to, const ConvTile& tile,
                  const ConvCut& cut, Scratch& s) const {
    T* panel = s.panel(width_);
    loops_.pack(panel, tile.width, b.data, cut.offsets.data() + from, to - from,
                cut.runs.data() + tile.first_run, static_cast<int64_t>(tile.runs));
    if (s.row_width != tile.width) {
      s.row_width = tile.width;
      for (size_t k = 0; k < s.rows.size(); ++k) s.rows[k] = static_cast<int64_t>(k) * tile.width;
    }
    return panel;
  }

  const Tensor &out_, &input_, &weight_;
  const ConvolutionOptions& options_;
  const Loops& loops_;
  int64_t groups_, in_channels_, out_channels_, images_, out_plane_;
  std::array<ConvAxis, kConvDims> axes_;
  Spatial in_stride_, weight_stride_, most_{0, 0, 0};
  std::vector<ConvBlock> blocks_;
  std::vector<ConvPart> parts_;
  std::vector<T> bias_;
  int64_t width_ = 0;  // pixels per full tile
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

void convolve(const Tensor& out, const Tensor& input, const Tensor& kernel, const Tensor& bias,
              const ConvolutionOptions& kernel_options) {
  if (out.numel() == 0) return;
  const auto [weight, options] = trim(kernel, input, out, kernel_options);
  if (is_product(out, input, weight, options))
    return convolve_by_product(out, input, weight, bias, options.transposed);
  const bool forward = !options.transposed;
  if (has_few_windows(forward ? out : input, forward ? input : out, weight, options))
    return convolve_windows(out, input, weight, bias, options);
  if (is_floating(out.dtype()) && scatter_pays(out, input, weight, options))
    return convolve_by_scatter(out, input, weight, bias, options);
  if (channels_pay(out, input, weight, options))
    return convolve_by_channels(out, input, weight, bias, options);
  switch (out.dtype()) {
    case DType::kFloat32: return run(out, input, weight, bias, options, float_conv_loops());
    case DType::kFloat64: return run(out, input, weight, bias, options, double_conv_loops());
    default: return run(out, input, weight, bias, options, int_conv_loops());
  }
}

}  // namespace uh
