// Padding: every output element is an input element or the padding value, chosen by a table per
// dimension, so that all modes share one copying loop.
#include <algorithm>
#include <cstring>

#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "generated/kernels/padding.h"
#include "ops/padding/margins.h"

namespace uh::kernels {
namespace {

constexpr int64_t kOutside = INT64_MIN;  // table entry for the padding value

// One dimension of the copy: the source of each output index, in elements of the input.
struct Line {
  std::vector<int64_t> from;
  int64_t first = 0, last = 0;  // outputs [first, last) are contiguous input elements
};

Line line_of(int64_t size, int64_t stride, int64_t before, int64_t after, PadMode mode) {
  Line line;
  const int64_t out = size + before + after;
  line.from.resize(static_cast<size_t>(out));
  // Circular padding repeats what negative margins have left.
  const int64_t cut = std::max<int64_t>(-before, 0);
  const int64_t copied = size - cut - std::max<int64_t>(-after, 0);
  for (int64_t o = 0; o < out; ++o) {
    int64_t i = o - before;
    if (i < 0 || i >= size || (mode == PadMode::kCircular && (i < cut || i >= cut + copied))) {
      switch (mode) {
        case PadMode::kConstant: i = kOutside; break;
        case PadMode::kReflect: i = i < 0 ? -i : 2 * (size - 1) - i; break;
        case PadMode::kReplicate: i = std::clamp<int64_t>(i, 0, size - 1); break;
        case PadMode::kCircular: i = cut + ((i - cut) % copied + copied) % copied; break;
      }
    }
    line.from[static_cast<size_t>(o)] = i == kOutside ? kOutside : i * stride;
  }
  line.first = std::clamp<int64_t>(before, 0, out);
  line.last = std::clamp<int64_t>(size + before, line.first, out);
  if (mode == PadMode::kCircular)
    line.last = std::min(line.last, std::max(before, line.first) + copied);
  return line;
}

template <class T>
void copy_row(T* out, const T* in, const Line& line, int64_t stride, T value) {
  const auto at = [&](int64_t o) {
    const int64_t from = line.from[static_cast<size_t>(o)];
    return from == kOutside ? value : in[from];
  };
  for (int64_t o = 0; o < line.first; ++o) out[o] = at(o);
  const int64_t n = line.last - line.first;
  if (n > 0) {
    const T* middle = in + line.from[static_cast<size_t>(line.first)];
    if (stride == 1)
      std::memcpy(out + line.first, middle, static_cast<size_t>(n) * sizeof(T));
    else
      for (int64_t j = 0; j < n; ++j) out[line.first + j] = middle[j * stride];
  }
  for (auto o = line.last; o < static_cast<int64_t>(line.from.size()); ++o) out[o] = at(o);
}

// `lines` are the dimensions in the memory order of `out`, outermost first.
template <class T>
void copy_lines(T* out, const T* in, const std::vector<Line>& lines, int64_t stride, T value) {
  const Line& inner = lines.back();
  const auto width = static_cast<int64_t>(inner.from.size());
  const size_t outer = lines.size() - 1;
  int64_t rows = 1;
  for (size_t d = 0; d < outer; ++d) rows *= static_cast<int64_t>(lines[d].from.size());
  parallel_for(0, rows, 1 + 65536 / width, [&](int64_t lo, int64_t hi) {
    Dims index(outer, 0);
    int64_t remainder = lo;
    for (size_t d = outer; d-- > 0;) {
      const auto n = static_cast<int64_t>(lines[d].from.size());
      index[d] = remainder % n;
      remainder /= n;
    }
    for (int64_t row = lo; row < hi; ++row) {
      int64_t offset = 0;
      for (size_t d = 0; d < outer && offset != kOutside; ++d) {
        const int64_t from = lines[d].from[static_cast<size_t>(index[d])];
        offset = from == kOutside ? kOutside : offset + from;
      }
      if (offset == kOutside)
        std::fill_n(out + row * width, width, value);
      else
        copy_row(out + row * width, in + offset, inner, stride, value);
      for (size_t d = outer; d-- > 0;) {
        if (++index[d] < static_cast<int64_t>(lines[d].from.size())) break;
        index[d] = 0;
      }
    }
  });
}

void padded(const Tensor& self, const Dims& pad, PadMode mode, const Scalar& value,
            const Tensor& out) {
  if (out.numel() == 0) return;
  const Margins m = margins_of(self, pad, "pad");
  if (self.numel() == 0) {  // only constant padding works on an empty input
    fill_elements(out, element_bytes(value, out.dtype()));
    return;
  }
  Dims order(out.sizes().size());
  for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return out.stride(a) > out.stride(b); });
  std::vector<Line> lines;
  int64_t stride = 1;
  for (const int64_t dim : order) {
    const auto d = static_cast<size_t>(dim);
    stride = self.stride(dim);
    lines.push_back(line_of(self.size(dim), stride, m.before[d], m.after[d], mode));
  }
  if (lines.empty()) lines.push_back(line_of(1, 1, 0, 0, mode));
  const ElementBytes bytes = element_bytes(value, out.dtype());
  const auto run = [&]<class T>(T) {
    T fill;
    std::memcpy(&fill, bytes.data(), sizeof(T));
    copy_lines(out.data_as<T>(), self.data_as<T>(), lines, stride, fill);
  };
  switch (itemsize(out.dtype())) {
    case 1: run(uint8_t{}); break;
    case 2: run(uint16_t{}); break;
    case 4: run(uint32_t{}); break;
    case 8: run(uint64_t{}); break;
    default: run(Complex128{}); break;
  }
}

// Backward: in[from[o]] += out[o] along all lines. Several rows may add to one input row.
template <class T>
void add_lines(T* in, const T* out, const std::vector<Line>& lines) {
  const Line& inner = lines.back();
  const auto width = static_cast<int64_t>(inner.from.size());
  const size_t outer = lines.size() - 1;
  int64_t rows = 1;
  for (size_t d = 0; d < outer; ++d) rows *= static_cast<int64_t>(lines[d].from.size());
  Dims index(outer, 0);
  for (int64_t row = 0; row < rows; ++row, out += width) {
    T* to = in;
    for (size_t d = 0; d < outer; ++d) to += lines[d].from[static_cast<size_t>(index[d])];
    for (int64_t o = 0; o < width; ++o) {
      T& target = to[inner.from[static_cast<size_t>(o)]];
      target = static_cast<T>(target + out[o]);
    }
    for (size_t d = outer; d-- > 0;) {
      if (++index[d] < static_cast<int64_t>(lines[d].from.size())) break;
      index[d] = 0;
    }
  }
}

}  // namespace

void constant_pad_nd(const Tensor& self, const Dims& pad, const Scalar& value,
                     const Tensor& result) {
  padded(self, pad, PadMode::kConstant, value, result);
}

void pad_reflect(const Tensor& self, const Dims& padding, const Tensor& result) {
  padded(self, padding, PadMode::kReflect, Scalar(int64_t{0}), result);
}

void pad_replicate(const Tensor& self, const Dims& padding, const Tensor& result) {
  padded(self, padding, PadMode::kReplicate, Scalar(int64_t{0}), result);
}

void pad_circular(const Tensor& self, const Dims& pad, const Tensor& result) {
  padded(self, pad, PadMode::kCircular, Scalar(int64_t{0}), result);
}

void pad_backward(const Tensor& grad_output, const Dims& input_sizes, const Dims& pad,
                  const std::string& mode_name, const Tensor& out) {
  if (out.numel() == 0) return;
  const Margins m = margins_of(out, pad, "_pad_backward");
  const PadMode mode = pad_mode(mode_name, "_pad_backward");
  if (input_sizes.empty()) {
    copy_elements(out, grad_output);
    return;
  }
  const bool narrow = is_reduced_floating(out.dtype());
  const Tensor result = narrow ? empty(input_sizes, DType::kFloat32) : out;
  fill_elements(result, ElementBytes{});
  const Tensor from = as_contiguous(grad_output, result.dtype());
  // Leading dimensions that are not padded are independent planes.
  const size_t first = std::min(input_sizes.size() - pad.size() / 2, input_sizes.size() - 1);
  std::vector<Line> lines;
  int64_t planes = 1;
  for (size_t d = 0; d < input_sizes.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    if (d < first)
      planes *= input_sizes[d];
    else
      lines.push_back(line_of(input_sizes[d], result.stride(dim), m.before[d], m.after[d], mode));
  }
  visit_any(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (sizeof(T) >= 4 && !std::is_integral_v<T>) {
      const int64_t to_plane = result.numel() / planes, from_plane = from.numel() / planes;
      parallel_for(0, planes, 1 + 65536 / (from_plane + 1), [&](int64_t lo, int64_t hi) {
        for (int64_t p = lo; p < hi; ++p)
          add_lines(result.data_as<T>() + p * to_plane, from.data_as<T>() + p * from_plane, lines);
      });
    }
  });
  if (narrow) copy_elements(out, result);
}

}  // namespace uh::kernels
