#include "ops/unfold/shapes.h"

#include <array>

namespace uh {
namespace {

std::array<int64_t, 2> pair(const Dims& values, int64_t min_value, std::string_view op,
                            std::string_view argument_name) {
  check(values.size() == 1 || values.size() == 2, op, ": it is expected that ", argument_name,
        " has 2 elements, but got ", values);
  for (const int64_t v : values)
    check(v >= min_value && v <= INT32_MAX, op, ": ", argument_name, " should be ",
          min_value ? "greater than zero" : "non-negative", ", but got ", values);
  return {values[0], values.back()};
}

void check_not_integral(const Tensor& self, std::string_view op) {
  check_kind(!is_integral(self.dtype()), ErrorKind::kNotImplemented, "\"", op,
             "\" not implemented for '", info(self.dtype()).title, "'");
}

}  // namespace

UnfoldedImage unfolded_image(const Dims& sizes, const Dims& kernel_size, const Dims& dilation,
                             const Dims& padding, const Dims& stride, std::string_view op) {
  const auto k = pair(kernel_size, 1, op, "kernel_size"), d = pair(dilation, 1, op, "dilation"),
             p = pair(padding, 0, op, "padding"), s = pair(stride, 1, op, "stride");
  const auto side = [&](int64_t in, size_t i) {
    check(in <= INT64_MAX / 4, op, ": sizes overflow 64 bits, got ", in);
    const int64_t room = in + 2 * p[i] - d[i] * (k[i] - 1) - 1;
    check(room >= 0, op, ": given input with spatial size ", in, ", kernel_size=", k[i],
          ", dilation=", d[i], ", padding=", p[i],
          ": the number of sliding blocks must be at least one");
    return UnfoldedSide{in, room / s[i] + 1, k[i], d[i], p[i], s[i]};
  };
  const size_t n = sizes.size();
  return {side(sizes[n - 2], 0), side(sizes[n - 1], 1), n == 4 ? sizes[0] : 1, sizes[n - 3]};
}

}  // namespace uh

namespace uh::shapes {

Tensor im2col(const Tensor& self, const Dims& kernel_size, const Dims& dilation,
              const Dims& padding, const Dims& stride) {
  const int64_t n = self.ndim();
  check_kind(n >= 2, ErrorKind::kIndex, "im2col: dimension out of range: input has ", n,
             " dimensions");
  const bool sized = (n == 3 || n == 4) && self.size(n - 3) && self.size(n - 2) && self.size(n - 1);
  check(sized,
        "im2col: expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
        "non-zero dimensions for input, but got: ",
        self.sizes());
  const UnfoldedImage m =
      unfolded_image(self.sizes(), kernel_size, dilation, padding, stride, "im2col");
  check_not_integral(self, "im2col");
  const Dims kernel{m.channels, m.y.kernel, m.x.kernel}, windows{m.y.out, m.x.out};
  Dims sizes{checked_numel(kernel, "im2col"), checked_numel(windows, "im2col")};
  if (n == 4) sizes = Dims{m.batch, sizes[0], sizes[1]};
  return empty(sizes, self.dtype(), self.device());
}

Tensor col2im(const Tensor& self, const Dims& output_size, const Dims& kernel_size,
              const Dims& dilation, const Dims& padding, const Dims& stride) {
  const auto size = pair(output_size, 1, "col2im", "output_size");
  const UnfoldedImage m =
      unfolded_image({1, size[0], size[1]}, kernel_size, dilation, padding, stride, "col2im");
  const int64_t n = self.ndim();
  const bool sized = (n == 2 || n == 3) && self.size(n - 2) && self.size(n - 1);
  check(sized,
        "col2im: expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size "
        "and non-zero dimensions, but got: ",
        self.sizes());
  const Dims kernel{m.y.kernel, m.x.kernel}, windows{m.y.out, m.x.out};
  const int64_t elements = checked_numel(kernel, "col2im"), L = checked_numel(windows, "col2im");
  check(self.size(n - 2) % elements == 0, "col2im: expected size of input's dimension ", n - 2,
        " to be divisible by the product of kernel_size, but got ", self.size(n - 2), " and ",
        kernel);
  check(self.size(n - 1) == L, "col2im: expected size of input's dimension ", n - 1,
        " to match the number of sliding blocks ", windows, " = ", L, ", but got ",
        self.size(n - 1));
  check_not_integral(self, "col2im");
  Dims sizes{self.size(n - 2) / elements, size[0], size[1]};
  if (n == 3) sizes.insert(0, self.size(0));
  checked_numel(sizes, "col2im");
  return empty(sizes, self.dtype(), self.device());
}

}  // namespace uh::shapes
