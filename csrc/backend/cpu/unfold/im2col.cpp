// im2col and col2im: windows of an image as columns of a matrix, and columns added into an image.
#include <algorithm>
#include <array>
#include <cstring>

#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "generated/kernels/unfold.h"

namespace uh::kernels {
namespace {

struct Side {  // height or width
  int64_t in, out, kernel, dilation, padding, stride;

  // Windows [first, last) have element k inside the image.
  int64_t first(int64_t k) const {
    const int64_t shift = padding - k * dilation;
    return shift <= 0 ? 0 : std::min((shift + stride - 1) / stride, out);
  }
  int64_t last(int64_t k) const {
    const int64_t room = in + padding - k * dilation;
    return room <= 0 ? first(k) : std::clamp((room - 1) / stride + 1, first(k), out);
  }
  int64_t input(int64_t o, int64_t k) const { return o * stride - padding + k * dilation; }
};

struct Image {
  Side y, x;
  int64_t batch, channels;

  int64_t plane() const { return y.in * x.in; }
  int64_t windows() const { return y.out * x.out; }
  int64_t rows() const { return channels * y.kernel * x.kernel; }
};

std::array<int64_t, 2> pair(const Dims& values, int64_t min_value, std::string_view op,
                            std::string_view argument_name) {
  check(values.size() == 1 || values.size() == 2, op, ": it is expected that ", argument_name,
        " has 2 elements, but got ", values);
  for (const int64_t v : values)
    check(v >= min_value && v <= INT32_MAX, op, ": ", argument_name, " should be ",
          min_value ? "greater than zero" : "non-negative", ", but got ", values);
  return {values[0], values.back()};
}

Image make_image(int64_t height, int64_t width, const Dims& kernel_size, const Dims& dilation,
                 const Dims& padding, const Dims& stride, std::string_view op) {
  const auto k = pair(kernel_size, 1, op, "kernel_size"), d = pair(dilation, 1, op, "dilation"),
             p = pair(padding, 0, op, "padding"), s = pair(stride, 1, op, "stride");
  const auto side = [&](int64_t in, size_t i) {
    check(in <= INT64_MAX / 4, op, ": sizes overflow 64 bits, got ", in);
    const int64_t room = in + 2 * p[i] - d[i] * (k[i] - 1) - 1;
    check(room >= 0, op, ": given input with spatial size ", in, ", kernel_size=", k[i],
          ", dilation=", d[i], ", padding=", p[i],
          ": the number of sliding blocks must be at least one");
    return Side{in, room / s[i] + 1, k[i], d[i], p[i], s[i]};
  };
  return {side(height, 0), side(width, 1), 1, 1};
}

// Calls row(first element of the row in the matrix, in the image, windows, input step) for each
// (channel, kernel element, window row); windows outside the image have step 0.
template <class F>
void for_rows(const Image& m, int64_t channel, const F& row) {
  for (int64_t ky = 0; ky < m.y.kernel; ++ky) {
    for (int64_t kx = 0; kx < m.x.kernel; ++kx) {
      const int64_t at = ((channel * m.y.kernel + ky) * m.x.kernel + kx) * m.windows();
      const int64_t first = m.x.first(kx), last = m.x.last(kx);
      for (int64_t oy = 0; oy < m.y.out; ++oy) {
        const int64_t iy = m.y.input(oy, ky);
        const bool inside = iy >= 0 && iy < m.y.in;
        row(at + oy * m.x.out, inside ? iy * m.x.in + m.x.input(first, kx) : -1,
            inside ? first : m.x.out, inside ? last : m.x.out);
      }
    }
  }
}

template <class T>
void to_columns(T* matrix, const T* image, const Image& m) {
  parallel_for(
      0, m.batch * m.channels, 1 + 65536 / (m.windows() * m.y.kernel * m.x.kernel),
      [&](int64_t lo, int64_t hi) {
        for (int64_t i = lo; i < hi; ++i) {
          const T* plane = image + i * m.plane();
          T* to = matrix + i / m.channels * m.rows() * m.windows();
          for_rows(m, i % m.channels, [&](int64_t at, int64_t from, int64_t first, int64_t last) {
            T* row = to + at;
            std::fill(row, row + first, T{});
            if (m.x.stride == 1 && last > first)
              std::memcpy(row + first, plane + from, static_cast<size_t>(last - first) * sizeof(T));
            else
              for (int64_t o = first; o < last; ++o)
                row[o] = plane[from + (o - first) * m.x.stride];
            std::fill(row + last, row + m.x.out, T{});
          });
        }
      });
}

template <class T>
void from_columns(T* image, const T* matrix, const Image& m) {
  parallel_for(0, m.batch * m.channels, 1 + 65536 / (m.windows() * m.y.kernel * m.x.kernel),
               [&](int64_t lo, int64_t hi) {
                 for (int64_t i = lo; i < hi; ++i) {
                   T* plane = image + i * m.plane();
                   std::fill(plane, plane + m.plane(), T{});
                   const T* from = matrix + i / m.channels * m.rows() * m.windows();
                   for_rows(m, i % m.channels,
                            [&](int64_t at, int64_t to, int64_t first, int64_t last) {
                              for (int64_t o = first; o < last; ++o)
                                plane[to + (o - first) * m.x.stride] += from[at + o];
                            });
                 }
               });
}

void check_dtype(const Tensor& self, std::string_view op) {
  check_kind(!is_integral(self.dtype()), ErrorKind::kNotImplemented, "\"", op,
             "\" not implemented for '", info(self.dtype()).title, "'");
}

}  // namespace

Tensor im2col(KeySet, const Tensor& self, const Dims& kernel_size, const Dims& dilation,
              const Dims& padding, const Dims& stride) {
  const int64_t n = self.ndim();
  check_kind(n >= 2, ErrorKind::kIndex, "im2col: dimension out of range: input has ", n,
             " dimensions");
  const bool sized = (n == 3 || n == 4) && self.size(n - 3) && self.size(n - 2) && self.size(n - 1);
  check(sized,
        "im2col: expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
        "non-zero dimensions for input, but got: ",
        self.sizes());
  Image m = make_image(self.size(n - 2), self.size(n - 1), kernel_size, dilation, padding, stride,
                       "im2col");
  m.batch = n == 4 ? self.size(0) : 1;
  m.channels = self.size(n - 3);
  check_dtype(self, "im2col");
  const Dims kernel{m.channels, m.y.kernel, m.x.kernel}, windows{m.y.out, m.x.out};
  Dims sizes{checked_numel(kernel, "im2col"), checked_numel(windows, "im2col")};
  if (n == 4) sizes = Dims{m.batch, sizes[0], sizes[1]};
  Tensor out = empty(sizes, self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  const Tensor in = as_contiguous(self);
  visit_any(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    to_columns(out.data_as<T>(), in.data_as<T>(), m);
  });
  record_write(out);
  return out;
}

Tensor col2im(KeySet, const Tensor& self, const Dims& output_size, const Dims& kernel_size,
              const Dims& dilation, const Dims& padding, const Dims& stride) {
  const auto size = pair(output_size, 1, "col2im", "output_size");
  Image m = make_image(size[0], size[1], kernel_size, dilation, padding, stride, "col2im");
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
  check_dtype(self, "col2im");
  m.batch = n == 3 ? self.size(0) : 1;
  m.channels = self.size(n - 2) / elements;
  Dims sizes{m.channels, size[0], size[1]};
  if (n == 3) sizes = Dims{m.batch, m.channels, size[0], size[1]};
  checked_numel(sizes, "col2im");
  Tensor out = empty(sizes, self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  // 16-bit floats are summed in float32, bools counted in int64.
  const DType t = out.dtype();
  const DType compute = is_reduced_floating(t) ? DType::kFloat32
                        : t == DType::kBool    ? DType::kInt64
                                               : t;
  const Tensor in = as_contiguous(self, compute);
  const Tensor result = compute == t ? out : empty(sizes, compute);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    from_columns(result.data_as<T>(), in.data_as<T>(), m);
  };
  switch (compute) {
    case DType::kFloat32: run(float{}); break;
    case DType::kFloat64: run(double{}); break;
    case DType::kComplex64: run(Complex64{}); break;
    case DType::kComplex128: run(Complex128{}); break;
    default: run(int64_t{}); break;
  }
  if (!result.is_same(out)) copy_elements(out, result);
  record_write(out);
  return out;
}

}  // namespace uh::kernels
