// The kernels of unfold.yaml: windows of an image as columns of a matrix, and columns added into an
// image.
#include <algorithm>
#include <cstring>

#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "generated/kernels/unfold.h"
#include "ops/unfold/shapes.h"

namespace uh::kernels {
namespace {

// Calls row(first element of the row in the matrix, in the image, windows, input step) for each
// (channel, kernel element, window row); windows outside the image have step 0.
template <class F>
void for_rows(const UnfoldedImage& m, int64_t channel, const F& row) {
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
void to_columns(T* matrix, const T* image, const UnfoldedImage& m) {
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
void from_columns(T* image, const T* matrix, const UnfoldedImage& m) {
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

}  // namespace

void im2col(const Tensor& self, const Dims& kernel_size, const Dims& dilation, const Dims& padding,
            const Dims& stride, const Tensor& out) {
  if (out.numel() == 0) return;
  const UnfoldedImage m =
      unfolded_image(self.sizes(), kernel_size, dilation, padding, stride, "im2col");
  const Tensor in = as_contiguous(self);
  visit_any(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    to_columns(out.data_as<T>(), in.data_as<T>(), m);
  });
}

void col2im(const Tensor& self, const Dims&, const Dims& kernel_size, const Dims& dilation,
            const Dims& padding, const Dims& stride, const Tensor& out) {
  if (out.numel() == 0) return;
  const UnfoldedImage m =
      unfolded_image(out.sizes(), kernel_size, dilation, padding, stride, "col2im");
  // 16-bit floats are summed in float32, bools counted in int64.
  const DType t = out.dtype();
  const DType compute = is_reduced_floating(t) ? DType::kFloat32
                        : t == DType::kBool    ? DType::kInt64
                                               : t;
  const Tensor in = as_contiguous(self, compute);
  const Tensor result = compute == t ? out : empty(out.sizes(), compute);
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
}

}  // namespace uh::kernels
