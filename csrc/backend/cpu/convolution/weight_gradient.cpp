// The gradient of a convolution's weight: for each element, the sum over all images and pixels of
// the output's gradient times the input that the element multiplied.
//
// With many output channels, the gradients of a pixel form a vector, and each input is multiplied
// by it, for a dozen kernel elements at a time. With few, vectors run along the pixels.
// With a stride of 1 the inputs of a kernel element are a window of the input, read in place: the
// gradient is spread to the input's row length (zeros between its rows), so that one long run of it
// is multiplied by one of the input. With strides, or if there would be more zeros than pixels,
// the inputs of each element are first copied to be contiguous. Depthwise: by_channels.h.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "backend/cpu/allocator.h"
#include "backend/cpu/conv_weight_loops.h"
#include "backend/cpu/convolution/by_channels.h"
#include "backend/cpu/convolution/convolve.h"
#include "backend/cpu/convolution/product.h"
#include "backend/cpu/convolution/trim.h"
#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "memory/allocator.h"
#include "ops/convolution/axis.h"

namespace uh {
namespace {

constexpr int64_t kChunkBytes = 1 << 20;  // images processed together: fit L2

template <class T>
class WeightGradient {
 public:
  using Loops = ConvWeightLoops<T>;

  WeightGradient(const Tensor& out, const Tensor& rows, const Tensor& columns,
                 const ConvolutionOptions& o, const Loops& loops)
      : out_(out.data_as<T>()),
        rows_(as_contiguous(rows)),
        columns_(as_contiguous(columns)),
        loops_(loops),
        images_(rows.size(0)),
        groups_(o.groups),
        row_channels_(rows.size(1) / o.groups),
        column_channels_(columns.size(1) / o.groups),
        stride_(o.stride),
        padding_(o.padding),
        dilation_(o.dilation) {
    const size_t d = out.sizes().size() - 2;
    for (size_t a = 0; a < kConvDims; ++a) {
      const bool used = a + d >= kConvDims;
      const auto at = static_cast<int64_t>(a + d - kConvDims + 2);
      pixels_[a] = used ? rows.size(at) : 1;
      in_[a] = used ? columns.size(at) : 1;
      kernel_[a] = used ? out.size(at) : 1;
    }
    taps_ = column_channels_ * kernel_[0] * kernel_[1] * kernel_[2];
    count_ = volume(pixels_);
  }

  void run() {
    std::fill_n(out_, groups_ * row_channels_ * taps_, T{});
    if (images_ * count_ == 0) return;
    if (row_channels_ * 2 >= loops_.lanes) return run_pixels();
    if (!plan_windows()) return run_copied();
    run_windows();
    // A zero between the rows may have been multiplied by an infinity that no element should
    // read.
    const int64_t n = groups_ * row_channels_ * taps_;
    const bool exact = length_ == count_;
    if (exact || std::all_of(out_, out_ + n, [](T x) { return std::isfinite(x); })) return;
    std::fill_n(out_, n, T{});
    run_copied();
  }

 private:
  static int64_t volume(const Spatial& s) { return s[0] * s[1] * s[2]; }

  // Returns true if no element of the weight reads padding.
  bool reads_input_only() const {
    for (size_t a = 0; a < kConvDims; ++a) {
      const int64_t last = (pixels_[a] - 1) * stride_[a] + (kernel_[a] - 1) * dilation_[a];
      if (padding_[a] != 0 || last >= in_[a]) return false;
    }
    return true;
  }

  // Computes the offset of each tap's input from the first tap's.
  void make_offsets() {
    const int64_t plane = volume(size_);
    offsets_.clear();
    for (int64_t c = 0; c < column_channels_; ++c)
      for (int64_t z = 0; z < kernel_[0]; ++z)
        for (int64_t y = 0; y < kernel_[1]; ++y)
          for (int64_t x = 0; x < kernel_[2]; ++x)
            offsets_.push_back(c * plane +
                               (z * dilation_[0] * size_[1] + y * dilation_[1]) * size_[2] +
                               x * dilation_[2]);
  }

  // ---- one pixel at a time, a vector of rows

  void run_pixels() {
    borrows_ = reads_input_only();
    for (size_t a = 0; a < kConvDims; ++a)
      size_[a] =
          borrows_ ? in_[a] : (pixels_[a] - 1) * stride_[a] + (kernel_[a] - 1) * dilation_[a] + 1;
    make_offsets();
    const int64_t rows = groups_ * row_channels_, columns = groups_ * column_channels_;
    const int64_t plane = volume(size_);
    // Rows are split into pieces of at most two vectors; the last is padded with zeros.
    const int64_t wide = ceil_div(row_channels_, loops_.lanes) * loops_.lanes;
    const int64_t bytes =
        (groups_ * wide * count_ + columns * plane) * static_cast<int64_t>(sizeof(T));
    const int64_t at_once = std::clamp<int64_t>(kChunkBytes / bytes, 1, images_);
    const DataPtr row_data = allocate(at_once * groups_ * wide * count_);
    const DataPtr column_data = borrows_ ? DataPtr() : allocate(at_once * columns * plane);
    const DataPtr sum_data = allocate(groups_ * taps_ * wide);
    T* const sums = static_cast<T*>(sum_data.get());
    std::fill_n(sums, groups_ * taps_ * wide, T{});
    const int64_t pieces = ceil_div(wide, 2 * loops_.lanes);
    const int64_t tiles = ceil_div(taps_, loops_.max_taps);
    for (int64_t first = 0; first < images_; first += at_once) {
      const int64_t n = std::min(at_once, images_ - first);
      T* const turned = static_cast<T*>(row_data.get());
      turn_rows(turned, rows_.data_as<T>() + first * rows * count_, n, wide);
      const T* column = columns_.data_as<T>() + first * columns * volume(in_);
      if (!borrows_) column = pad_columns(static_cast<T*>(column_data.get()), column, n * columns);
      const double work = 2.0 * loops_.lanes * loops_.max_taps * n * count_;
      const auto grain = static_cast<int64_t>(std::min(262144.0 / (work + 1), 1e9)) + 1;
      parallel_for(0, groups_ * tiles * pieces, grain, [&](int64_t lo, int64_t hi) {
        for (int64_t i = lo; i < hi; ++i) {
          const int64_t group = i / (tiles * pieces), piece = i % pieces;
          const int64_t tap = i / pieces % tiles * loops_.max_taps;
          const int64_t row = piece * 2 * loops_.lanes;
          typename Loops::Pixels from{turned + group * n * count_ * wide + row,
                                      column + group * column_channels_ * plane,
                                      nullptr,
                                      wide,
                                      {n, pixels_[0], pixels_[1], pixels_[2]},
                                      {columns * plane, stride_[0] * size_[1] * size_[2],
                                       stride_[1] * size_[2], stride_[2]}};
          const bool two = wide - row > loops_.lanes;
          T* const to = sums + group * taps_ * wide + row;
          run_taps(to, wide, from, tap, std::min(taps_, tap + loops_.max_taps), two);
        }
      });
    }
    store_sums(sums, wide);
  }

  // Transposes [group][tap][row] to [group][row][tap], a few rows at a time, so that each cache
  // line is read once.
  void store_sums(const T* sums, int64_t wide) const {
    constexpr int64_t kRows = 64 / sizeof(T);
    const int64_t blocks = ceil_div(row_channels_, kRows);
    parallel_for(0, groups_ * blocks, 1 + 65536 / (taps_ * kRows), [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        const int64_t group = i / blocks, first = i % blocks * kRows;
        const int64_t rows = std::min(kRows, row_channels_ - first);
        T* const to = out_ + (group * row_channels_ + first) * taps_;
        const T* from = sums + group * taps_ * wide + first;
        for (int64_t k = 0; k < taps_; ++k, from += wide)
          for (int64_t r = 0; r < rows; ++r) to[r * taps_ + k] = from[r];
      }
    });
  }

  void run_taps(T* sums, int64_t wide, typename Loops::Pixels from, int64_t tap, int64_t end,
                bool two) const {
    for (int kind = Loops::kPixelKinds - 1; kind >= 0; --kind) {
      const int64_t n = Loops::kPixelTaps[kind];
      if (n > loops_.max_taps) continue;
      for (; end - tap >= n; tap += n) {
        from.offset = offsets_.data() + tap;
        loops_.by_pixel[two ? 1 : 0][kind](sums + tap * wide, wide, from);
      }
    }
  }

  // Transposes to [group][image][pixel][row], so that the rows of a pixel form a vector.
  void turn_rows(T* to, const T* from, int64_t n, int64_t wide) const {
    parallel_for(0, groups_ * n, 1 + 65536 / (count_ * wide), [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        const int64_t group = i / n, image = i % n;
        const T* x = from + (image * groups_ + group) * row_channels_ * count_;
        T* at = to + i * count_ * wide;
        for (int64_t p = 0; p < count_; ++p, at += wide) {
          for (int64_t r = 0; r < row_channels_; ++r) at[r] = x[r * count_ + p];
          for (int64_t r = row_channels_; r < wide; ++r) at[r] = T{};
        }
      }
    });
  }

  // ---- windows of the input, in place

  bool plan_windows() {
    if (stride_ != Spatial{1, 1, 1}) return false;
    borrows_ = reads_input_only();
    for (size_t a = 0; a < kConvDims; ++a)
      size_[a] = borrows_ ? in_[a] : pixels_[a] + (kernel_[a] - 1) * dilation_[a];
    length_ = ((pixels_[0] - 1) * size_[1] + pixels_[1] - 1) * size_[2] + pixels_[2];
    if (count_ * 2 < length_ || length_ < 16) return false;
    make_offsets();
    return true;
  }

  void run_windows() {
    const int64_t rows = groups_ * row_channels_, columns = groups_ * column_channels_;
    const int64_t plane = volume(size_);
    const int64_t bytes = (rows * length_ + columns * plane) * static_cast<int64_t>(sizeof(T));
    const int64_t at_once = std::clamp<int64_t>(kChunkBytes / bytes, 1, images_);
    const bool spread = length_ != count_;
    const DataPtr row_data = spread ? allocate(at_once * rows * length_) : DataPtr();
    const DataPtr column_data = borrows_ ? DataPtr() : allocate(at_once * columns * plane);
    for (int64_t first = 0; first < images_; first += at_once) {
      const int64_t n = std::min(at_once, images_ - first);
      const T* row = rows_.data_as<T>() + first * rows * count_;
      const T* column = columns_.data_as<T>() + first * columns * volume(in_);
      if (spread) row = spread_rows(static_cast<T*>(row_data.get()), row, n * rows);
      if (!borrows_) column = pad_columns(static_cast<T*>(column_data.get()), column, n * columns);
      typename Loops::Source from{
          row, column, nullptr, length_, rows * length_, columns * plane, length_, n};
      run_tiles(from, column_channels_ * plane);
    }
  }

  const T* spread_rows(T* to, const T* from, int64_t planes) const {
    const Spatial gap{(size_[1] - pixels_[1]) * size_[2], size_[2] - pixels_[2], 0};
    parallel_for(0, planes, 1 + 65536 / length_, [&](int64_t lo, int64_t hi) {
      for (int64_t p = lo; p < hi; ++p) {
        const T* x = from + p * count_;
        T* at = to + p * length_;
        const T* const end = at + length_;
        for (int64_t z = 0; z < pixels_[0]; ++z) {
          for (int64_t y = 0; y < pixels_[1]; ++y) {
            at = std::copy_n(x, pixels_[2], at);
            x += pixels_[2];
            if (at < end) at = std::fill_n(at, gap[1], T{});
          }
          if (at < end) at = std::fill_n(at, gap[0], T{});
        }
      }
    });
    return to;
  }

  const T* pad_columns(T* to, const T* from, int64_t planes) const {
    const int64_t plane = volume(size_), area = volume(in_);
    parallel_for(0, planes, 1 + 65536 / plane, [&](int64_t lo, int64_t hi) {
      for (int64_t p = lo; p < hi; ++p)
        for (int64_t z = 0; z < size_[0]; ++z)
          for (int64_t y = 0; y < size_[1]; ++y)
            copy_row(to + p * plane + (z * size_[1] + y) * size_[2], size_[2], from + p * area,
                     {z - padding_[0], y - padding_[1], -padding_[2]}, 1);
    });
    return to;
  }

  // Copies n elements of the input from `start`, `step` apart along the row; zeros outside it.
  void copy_row(T* to, int64_t n, const T* plane, const Spatial& start, int64_t step) const {
    if (start[0] < 0 || start[0] >= in_[0] || start[1] < 0 || start[1] >= in_[1]) {
      std::fill_n(to, n, T{});
      return;
    }
    const int64_t x = start[2];
    const int64_t j0 = std::min(n, x >= 0 ? 0 : ceil_div(-x, step));
    const int64_t j1 = std::clamp<int64_t>(x >= in_[2] ? 0 : ceil_div(in_[2] - x, step), j0, n);
    const T* from = plane + (start[0] * in_[1] + start[1]) * in_[2] + x;
    std::fill_n(to, j0, T{});
    if (step == 1)
      std::copy_n(from + j0, j1 - j0, to + j0);
    else
      for (int64_t j = j0; j < j1; ++j) to[j] = from[j * step];
    std::fill_n(to + j1, n - j1, T{});
  }

  // ---- copies of each element's inputs

  void run_copied() {
    const int64_t rows = groups_ * row_channels_, taps = groups_ * taps_;
    const int64_t lines = images_ * pixels_[0] * pixels_[1];  // rows of pixels in all images
    const int64_t bytes = (rows + taps) * pixels_[2] * static_cast<int64_t>(sizeof(T));
    const int64_t at_once = std::clamp<int64_t>(kChunkBytes / bytes, 1, lines);
    const DataPtr row_data = allocate(at_once * rows * pixels_[2]);
    const DataPtr column_data = allocate(at_once * taps * pixels_[2]);
    T* const row = static_cast<T*>(row_data.get());
    T* const column = static_cast<T*>(column_data.get());
    offsets_.resize(static_cast<size_t>(taps_));
    for (int64_t first = 0; first < lines; first += at_once) {
      const int64_t n = std::min(at_once, lines - first), length = n * pixels_[2];
      parallel_for(0, rows + taps, 1 + 65536 / length, [&](int64_t lo, int64_t hi) {
        for (int64_t i = lo; i < hi; ++i) {
          if (i < rows)
            copy_pixels(row + i * length, i, first, n);
          else
            copy_tap(column + (i - rows) * length, i - rows, first, n);
        }
      });
      for (size_t k = 0; k < offsets_.size(); ++k) offsets_[k] = static_cast<int64_t>(k) * length;
      run_tiles({row, column, nullptr, length, 0, 0, length, 1}, taps_ * length);
    }
  }

  void copy_pixels(T* to, int64_t channel, int64_t first, int64_t n) const {
    const int64_t lines = pixels_[0] * pixels_[1], rows = groups_ * row_channels_;
    for (int64_t line = first; line < first + n; ++line) {
      const int64_t at = (line / lines * rows + channel) * lines + line % lines;
      to = std::copy_n(rows_.data_as<T>() + at * pixels_[2], pixels_[2], to);
    }
  }

  void copy_tap(T* to, int64_t tap, int64_t first, int64_t n) const {
    const int64_t x = tap % kernel_[2], y = tap / kernel_[2] % kernel_[1];
    const int64_t z = tap / (kernel_[2] * kernel_[1]) % kernel_[0];
    const int64_t channel = tap / volume(kernel_), channels = groups_ * column_channels_;
    const int64_t lines = pixels_[0] * pixels_[1];
    for (int64_t line = first; line < first + n; ++line, to += pixels_[2]) {
      const T* plane = columns_.data_as<T>() + (line / lines * channels + channel) * volume(in_);
      const int64_t pz = line % lines / pixels_[1], py = line % pixels_[1];
      copy_row(to, pixels_[2], plane,
               {pz * stride_[0] - padding_[0] + z * dilation_[0],
                py * stride_[1] - padding_[1] + y * dilation_[1], x * dilation_[2] - padding_[2]},
               stride_[2]);
    }
  }

  // ---- tiles

  // Runs all rows and taps of all groups, whose taps are `group_step` apart.
  void run_tiles(typename Loops::Source from, int64_t group_step) const {
    const int64_t blocks = ceil_div(taps_, 6);
    const double work = 6.0 * row_channels_ * from.length * from.images;
    const auto grain = static_cast<int64_t>(std::min(262144.0 / (work + 1), 1e9)) + 1;
    parallel_for(0, groups_ * blocks, grain, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        const int64_t group = i / blocks, begin = i % blocks * 6;
        int64_t tap = begin;
        const int64_t end = std::min(taps_, begin + 6);
        for (int kind = Loops::kTapKinds - 1; kind >= 0; --kind)
          for (const int64_t n = Loops::kTaps[kind]; end - tap >= n; tap += n)
            run_rows(from, group, group_step, tap, kind);
      }
    });
  }

  void run_rows(typename Loops::Source from, int64_t group, int64_t group_step, int64_t tap,
                int tap_kind) const {
    from.input += group * group_step;
    from.offset = offsets_.data() + tap;
    int64_t r = group * row_channels_;
    const int64_t end = r + row_channels_;
    const T* const rows = from.row;
    for (int kind = loops_.row_kinds - 1; kind >= 0; --kind) {
      for (const int64_t n = Loops::kRows[kind]; end - r >= n; r += n) {
        from.row = rows + r * from.row_step;
        loops_.tile[kind][tap_kind](out_ + r * taps_ + tap, taps_, from);
      }
    }
  }

  static DataPtr allocate(int64_t n) {
    return default_allocator().allocate(static_cast<size_t>(std::max<int64_t>(n, 1)) * sizeof(T));
  }

  T* const out_;
  const Tensor rows_, columns_;
  const Loops& loops_;
  int64_t images_, groups_, row_channels_, column_channels_;
  Spatial stride_, padding_, dilation_, pixels_, in_, kernel_, size_;
  int64_t taps_, count_, length_ = 0;  // taps of a group; pixels; span of the last pixels
  bool borrows_ = false;
  std::vector<int64_t> offsets_;
};

}  // namespace

void convolve_weight(const Tensor& out, const Tensor& rows, const Tensor& columns,
                     const ConvolutionOptions& kernel_options) {
  const bool forwards = !kernel_options.transposed;
  const auto [part, options] =
      trim(out, forwards ? columns : rows, forwards ? rows : columns, kernel_options);
  if (part.sizes() != out.sizes()) {
    const Tensor gradient = empty(part.sizes(), out.dtype());
    convolve_weight(gradient, rows, columns, options);
    std::memset(out.data(), 0, static_cast<size_t>(out.numel() * itemsize(out.dtype())));
    copy_elements(part, gradient);
    return;
  }
  if (is_product(rows, columns, out, options)) return weight_by_product(out, rows, columns);
  if (has_few_windows(rows, columns, out, options))
    return weight_by_windows(out, rows, columns, options);
  if (channels_pay_for_weight(rows, columns, out, options))
    return weight_by_channels(out, rows, columns, options);
  if (out.dtype() == DType::kFloat32)
    WeightGradient<float>(out, rows, columns, options, float_conv_weight_loops()).run();
  else
    WeightGradient<double>(out, rows, columns, options, double_conv_weight_loops()).run();
}

}  // namespace uh
