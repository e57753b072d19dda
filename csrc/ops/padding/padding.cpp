// The shape rules and composites of padding.yaml.
#include <algorithm>

#include "generated/kernels/padding.h"
#include "generated/ops/padding.h"
#include "ops/padding/margins.h"
#include "ops/padding/shapes.h"
#include "ops/suggested_format.h"

namespace uh {

PadMode pad_mode(const std::string& name, std::string_view op) {
  if (name == "reflect") return PadMode::kReflect;
  if (name == "replicate") return PadMode::kReplicate;
  check(name == "circular", op, ": unrecognised padding mode '", name, "'");
  return PadMode::kCircular;
}

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
    constexpr int64_t kMaxPadding = int64_t{1} << 60;
    check(std::min(m.before[d], m.after[d]) > -kMaxPadding &&
              std::max(m.before[d], m.after[d]) < kMaxPadding,
          op, ": padding ", pad, " overflows 64 bits");
  }
  return m;
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

}  // namespace uh

namespace uh::shapes {
namespace {

// The rule of reflection and replication: (C, ...) or (N, C, ...), where only N may be 0.
Tensor edged(const Tensor& self, const Dims& padding, int64_t dims, PadMode mode,
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
    if (mode == PadMode::kReflect)
      check(m.before[i] < self.size(d) && m.after[i] < self.size(d), op,
            ": padding size should be less than the corresponding input dimension, but got: "
            "padding (",
            m.before[i], ", ", m.after[i], ") at dimension ", d, " of input ", self.sizes());
  }
  check_kind(self.dtype() != DType::kBool, ErrorKind::kNotImplemented, "\"", op,
             "\" not implemented for 'Bool'");
  const Dims sizes = padded_sizes(self, m, op);
  for (int64_t d = self.ndim() - dims; d < self.ndim(); ++d)
    check(mode != PadMode::kReflect || sizes[static_cast<size_t>(d)] >= 1, op, ": input ",
          self.sizes(), " is too small for padding ", padding);
  return empty_in_format_of(self, sizes, self.dtype());
}

}  // namespace

Tensor constant_pad(const Tensor& self, const Dims& pad) {
  const std::string_view op = "constant_pad_nd";
  return empty_in_format_of(self, padded_sizes(self, margins_of(self, pad, op), op), self.dtype());
}

Tensor reflection_pad(std::string_view op, const Tensor& self, const Dims& padding, int64_t dims) {
  return edged(self, padding, dims, PadMode::kReflect, op);
}

Tensor replication_pad(std::string_view op, const Tensor& self, const Dims& padding, int64_t dims) {
  return edged(self, padding, dims, PadMode::kReplicate, op);
}

Tensor circular_pad(const Tensor& self, const Dims& pad) {
  const std::string_view op = "_pad_circular";
  const Margins m = margins_of(self, pad, op);
  for (int64_t d = self.ndim() - pad.ndim() / 2; d < self.ndim(); ++d) {
    const auto i = static_cast<size_t>(d);
    check(m.before[i] <= self.size(d) && m.after[i] <= self.size(d), op,
          ": padding value causes wrapping around more than once: (", m.before[i], ", ", m.after[i],
          ") at dimension ", d, " of input ", self.sizes());
    const bool something =
        std::max<int64_t>(-m.before[i], 0) + std::max<int64_t>(-m.after[i], 0) < self.size(d);
    check(something || m.before[i] + m.after[i] + self.size(d) <= 0, op,
          ": negative padding leaves nothing to repeat: (", m.before[i], ", ", m.after[i],
          ") at dimension ", d, " of input ", self.sizes());
  }
  return empty_in_format_of(self, padded_sizes(self, m, op), self.dtype());
}

Tensor pad_backward(const Tensor& grad_output, const Dims& input_sizes, const Dims& pad,
                    const std::string& mode_name) {
  const std::string_view op = "_pad_backward";
  const Tensor input = empty(input_sizes, grad_output.dtype(), Device::kMeta);
  const Margins m = margins_of(input, pad, op);
  check(padded_sizes(input, m, op) == grad_output.sizes(), op, ": grad_output of sizes ",
        grad_output.sizes(), " is not an input of ", input_sizes, " padded by ", pad);
  check_kind(is_inexact(grad_output.dtype()), ErrorKind::kNotImplemented, "\"", op,
             "\" not implemented for '", info(grad_output.dtype()).title, "'");
  const PadMode mode = pad_mode(mode_name, op);
  const bool is_empty = numel_of(input_sizes) == 0;
  for (size_t d = 0; d < input_sizes.size() && mode != PadMode::kReplicate && !is_empty; ++d) {
    const int64_t limit = input_sizes[d] - (mode == PadMode::kReflect ? 1 : 0);
    check(m.before[d] <= limit && m.after[d] <= limit, op, ": padding ", pad,
          " is too large for an input of ", input_sizes);
  }
  return empty(input_sizes, grad_output.dtype(), grad_output.device());
}

}  // namespace uh::shapes

namespace uh::kernels {

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
