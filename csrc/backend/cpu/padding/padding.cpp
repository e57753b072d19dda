// Padding: every output element is an input element, or the padding value. Which one follows from a
// table per dimension, so that all modes share one copying loop.
#include <algorithm>
#include <cstring>

#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "generated/kernels/padding.h"
#include "generated/ops/padding.h"
#include "ops/suggested_format.h"

namespace uh::kernels {
namespace {

enum class Mode { kConstant, kReflect, kReplicate, kCircular };

constexpr int64_t kOutside = INT64_MIN;  // in a table: the padding value belongs here

// What is added before and after each dimension; negative numbers cut off.
struct Margins {
  Dims before, after;
};

// One dimension of the copy: where each output index comes from, in elements of the input.
struct Line {
  std::vector<int64_t> from;
  int64_t first = 0, last = 0;  // outputs [first, last) are input elements side by side
};

Line line_of(int64_t size, int64_t stride, int64_t before, int64_t after, Mode mode) {
  Line line;
  const int64_t out = size + before + after;
  line.from.resize(static_cast<size_t>(out));
  // What circular padding repeats is what is left when the negative margins have been cut off.
  const int64_t cut = std::max<int64_t>(-before, 0);
  const int64_t copied = size - cut - std::max<int64_t>(-after, 0);
  for (int64_t o = 0; o < out; ++o) {
    int64_t i = o - before;
    if (i < 0 || i >= size || (mode == Mode::kCircular && (i < cut || i >= cut + copied))) {
      switch (mode) {
        case Mode::kConstant: i = kOutside; break;
        case Mode::kReflect: i = i < 0 ? -i : 2 * (size - 1) - i; break;
        case Mode::kReplicate: i = std::clamp<int64_t>(i, 0, size - 1); break;
        case Mode::kCircular: i = cut + ((i - cut) % copied + copied) % copied; break;
      }
    }
    line.from[static_cast<size_t>(o)] = i == kOutside ? kOutside : i * stride;
  }
  line.first = std::clamp<int64_t>(before, 0, out);
  line.last = std::clamp<int64_t>(size + before, line.first, out);
  if (mode == Mode::kCircular)
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

Dims padded_sizes(const Tensor& self, const Margins& m, std::string_view op) {
  Dims sizes = self.sizes();
  for (size_t d = 0; d < sizes.size(); ++d) {
    int64_t size = 0;
    const bool fits = !__builtin_add_overflow(sizes[d], m.before[d], &size) &&
                      !__builtin_add_overflow(size, m.after[d], &size);
    check(fits && size >= 0 && sizes[d] + std::min<int64_t>(m.before[d], 0) >= 0 &&
              sizes[d] + std::min<int64_t>(m.after[d], 0) >= 0,
          op, ": the input size ", sizes[d], ", plus padding ", m.before[d], " and ", m.after[d],
          " resulted in a negative output size at dimension ", d);
    sizes[d] = size;
  }
  return sizes;
}

Tensor padded(const Tensor& self, const Margins& m, Mode mode, const Scalar& value,
              std::string_view op) {
  const Dims sizes = padded_sizes(self, m, op);
  Tensor out = empty_in_format_of(self, sizes, self.dtype());
  if (out.is_meta() || out.numel() == 0) return out;
  if (self.numel() == 0) {  // only constant padding makes something of nothing
    fill_elements(out, element_bytes(value, out.dtype()));
    record_write(out);
    return out;
  }
  Dims order(sizes.size());
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
  record_write(out);
  return out;
}

// in[from[o]] += out[o] along all lines: the way back. Rows of the input may get several.
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

// The pairs of `pad` count from the last dimension backwards.
Margins margins_of(const Tensor& self, const Dims& pad, std::string_view op) {
  check(pad.size() % 2 == 0, op, ": padding length must be divisible by 2, got ", pad);
  check(pad.ndim() <= 2 * self.ndim(), op,
        ": padding length should be less than or equal to two times the input dimension, but got "
        "padding length ",
        pad.size(), " and input of dimension ", self.ndim());
  Margins m{Dims(self.sizes().size(), 0), Dims(self.sizes().size(), 0)};
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const size_t d = self.sizes().size() - 1 - i;
    m.before[d] = pad[2 * i];
    m.after[d] = pad[2 * i + 1];
    constexpr int64_t kMost = int64_t{1} << 60;
    check(std::min(m.before[d], m.after[d]) > -kMost && std::max(m.before[d], m.after[d]) < kMost,
          op, ": padding ", pad, " overflows 64 bits");
  }
  return m;
}

// What reflection and replication share: (C, ...) or (N, C, ...), where only N may be 0.
Tensor edged(const Tensor& self, const Dims& padding, int64_t dims, Mode mode,
             std::string_view op) {
  check(padding.ndim() == 2 * dims, op, ": padding size is expected to be ", 2 * dims, ", but got ",
        padding.size());
  bool good = self.ndim() == dims + 1 || self.ndim() == dims + 2;
  for (int64_t d = self.ndim() == dims + 2 ? 1 : 0; d < self.ndim(); ++d)
    good = good && self.size(d) != 0;
  check(good, op, ": expected ", dims + 1, "D or ", dims + 2,
        "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
        "but got: ",
        self.sizes());
  const Margins m = margins_of(self, padding, op);
  for (int64_t d = self.ndim() - dims; d < self.ndim(); ++d) {
    const auto i = static_cast<size_t>(d);
    if (mode == Mode::kReflect)
      check(m.before[i] < self.size(d) && m.after[i] < self.size(d), op,
            ": padding size should be less than the corresponding input dimension, but got: "
            "padding (",
            m.before[i], ", ", m.after[i], ") at dimension ", d, " of input ", self.sizes());
  }
  check_kind(self.dtype() != DType::kBool, ErrorKind::kNotImplemented, "\"", op,
             "\" not implemented for 'Bool'");
  const Dims sizes = padded_sizes(self, m, op);
  for (int64_t d = self.ndim() - dims; d < self.ndim(); ++d)
    check(mode != Mode::kReflect || sizes[static_cast<size_t>(d)] >= 1, op, ": input ",
          self.sizes(), " is too small for padding ", padding);
  return padded(self, m, mode, Scalar(int64_t{0}), op);
}

}  // namespace

Tensor constant_pad_nd(KeySet, const Tensor& self, const Dims& pad, const Scalar& value) {
  return padded(self, margins_of(self, pad, "constant_pad_nd"), Mode::kConstant, value,
                "constant_pad_nd");
}

Tensor reflection_pad1d(KeySet, const Tensor& self, const Dims& padding) {
  return edged(self, padding, 1, Mode::kReflect, "reflection_pad1d");
}
Tensor reflection_pad2d(KeySet, const Tensor& self, const Dims& padding) {
  return edged(self, padding, 2, Mode::kReflect, "reflection_pad2d");
}
Tensor reflection_pad3d(KeySet, const Tensor& self, const Dims& padding) {
  return edged(self, padding, 3, Mode::kReflect, "reflection_pad3d");
}
Tensor replication_pad1d(KeySet, const Tensor& self, const Dims& padding) {
  return edged(self, padding, 1, Mode::kReplicate, "replication_pad1d");
}
Tensor replication_pad2d(KeySet, const Tensor& self, const Dims& padding) {
  return edged(self, padding, 2, Mode::kReplicate, "replication_pad2d");
}
Tensor replication_pad3d(KeySet, const Tensor& self, const Dims& padding) {
  return edged(self, padding, 3, Mode::kReplicate, "replication_pad3d");
}

Tensor pad_circular(KeySet, const Tensor& self, const Dims& pad) {
  const Margins m = margins_of(self, pad, "_pad_circular");
  for (int64_t d = self.ndim() - pad.ndim() / 2; d < self.ndim(); ++d) {
    const auto i = static_cast<size_t>(d);
    check(m.before[i] <= self.size(d) && m.after[i] <= self.size(d),
          "_pad_circular: padding value causes wrapping around more than once: (", m.before[i],
          ", ", m.after[i], ") at dimension ", d, " of input ", self.sizes());
    const bool something =
        std::max<int64_t>(-m.before[i], 0) + std::max<int64_t>(-m.after[i], 0) < self.size(d);
    check(something || m.before[i] + m.after[i] + self.size(d) <= 0,
          "_pad_circular: negative padding leaves nothing to repeat: (", m.before[i], ", ",
          m.after[i], ") at dimension ", d, " of input ", self.sizes());
  }
  return padded(self, m, Mode::kCircular, Scalar(int64_t{0}), "_pad_circular");
}

Tensor pad_backward(KeySet, const Tensor& grad_output, const Dims& input_sizes, const Dims& pad,
                    const std::string& name) {
  const std::string_view op = "_pad_backward";
  const Tensor input = empty(input_sizes, grad_output.dtype(), Device::kMeta);
  const Margins m = margins_of(input, pad, op);
  check(padded_sizes(input, m, op) == grad_output.sizes(), op, ": grad_output of sizes ",
        grad_output.sizes(), " is not an input of ", input_sizes, " padded by ", pad);
  check_kind(is_inexact(grad_output.dtype()), ErrorKind::kNotImplemented, "\"", op,
             "\" not implemented for '", info(grad_output.dtype()).title, "'");
  const Mode mode = name == "reflect"     ? Mode::kReflect
                    : name == "replicate" ? Mode::kReplicate
                                          : Mode::kCircular;
  check(mode != Mode::kCircular || name == "circular", op, ": unrecognised padding mode '", name,
        "'");
  Tensor out = empty(input_sizes, grad_output.dtype(), grad_output.device());
  if (out.is_meta() || out.numel() == 0) return out;
  for (size_t d = 0; d < input_sizes.size() && mode != Mode::kReplicate; ++d) {
    const int64_t limit = input_sizes[d] - (mode == Mode::kReflect ? 1 : 0);
    check(m.before[d] <= limit && m.after[d] <= limit, op, ": padding ", pad,
          " is too large for an input of ", input_sizes);
  }
  if (input_sizes.empty()) {
    copy_elements(out, grad_output);
    record_write(out);
    return out;
  }
  const bool narrow = is_reduced_floating(out.dtype());
  const Tensor result = narrow ? empty(input_sizes, DType::kFloat32) : out;
  fill_elements(result, ElementBytes{});
  const Tensor from = as_contiguous(grad_output, result.dtype());
  // Dimensions in front that are not padded are planes, each by itself.
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
  record_write(out);
  return out;
}

Tensor pad(KeySet, const Tensor& self, const Dims& pad, const std::string& mode,
           std::optional<double> value) {
  if (mode == "constant") {
    if (!value) return ops::constant_pad_nd(self, pad, Scalar(int64_t{0}));
    return ops::constant_pad_nd(self, pad, Scalar(*value));
  }
  const bool reflects = mode == "reflect", replicates = mode == "replicate";
  check_kind(reflects || replicates || mode == "circular", ErrorKind::kNotImplemented,
             "pad: unrecognised padding mode '", mode,
             "', it is 'constant', 'reflect', 'replicate' or 'circular'");
  check(pad.size() % 2 == 0, "pad: padding length must be divisible by 2, got ", pad);
  check(!value || *value == 0, "pad: padding mode '", mode, "' does not take in a value argument");
  const int64_t dims = pad.ndim() / 2;
  check_kind(dims >= 1 && dims <= 3 && (self.ndim() == dims + 1 || self.ndim() == dims + 2),
             ErrorKind::kNotImplemented, "pad: padding size ", pad.size(), " is not supported for ",
             self.ndim(),
             "D input tensor: 2D or 3D input takes 2 numbers, 3D or 4D takes 4, 4D or 5D takes 6");
  if (reflects) {
    if (dims == 1) return ops::reflection_pad1d(self, pad);
    return dims == 2 ? ops::reflection_pad2d(self, pad) : ops::reflection_pad3d(self, pad);
  }
  if (replicates) {
    if (dims == 1) return ops::replication_pad1d(self, pad);
    return dims == 2 ? ops::replication_pad2d(self, pad) : ops::replication_pad3d(self, pad);
  }
  return ops::_pad_circular(self, pad);
}

}  // namespace uh::kernels
