// Gradients of pooling: that of a maximum goes to its index, that of a mean is divided equally
// among the elements of its window.
#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "generated/kernels/pooling.h"
#include "ops/pooling/common.h"

namespace uh::kernels {
namespace {

// Returns the size of a plane: the product of the last `dims` sizes.
int64_t plane_of(IntSpan sizes, int64_t dims) {
  int64_t n = 1;
  for (size_t d = sizes.size() - static_cast<size_t>(dims); d < sizes.size(); ++d) n *= sizes[d];
  return n;
}

// Calls f(to, from) for float32 or float64 elements; the result has the gradient's dtype.
template <class F>
void in_compute(const Tensor& grad, const Tensor& out, const F& f) {
  if (out.numel() == 0) return;
  const DType compute = pool_dtype(grad.dtype());
  const Tensor result = compute == grad.dtype() ? out : empty(out.sizes(), compute);
  const Tensor from = as_contiguous(grad, compute);
  if (compute == DType::kFloat32)
    f(result.data_as<float>(), from.data_as<float>());
  else
    f(result.data_as<double>(), from.data_as<double>());
  if (!result.is_same(out)) copy_elements(out, result);
}

struct Averages {
  const Windows& w;
  const Parts& parts;
  bool counts_padding;
  int64_t divisor;

  // The shares of a row of windows are summed once, and added to every row that the windows cover.
  template <class T>
  void plane(T* to, const T* from, T* row) const {
    const int64_t width = w.axes[2].in, height = w.axes[1].in;
    std::fill_n(to, w.in_plane(), T{});
    for (const Part& z : parts[0]) {
      for (const Part& y : parts[1]) {
        std::fill_n(row, width, T{});
        for (const Part& x : parts[2]) {
          const int64_t by = divisor_of(z, y, x, counts_padding, divisor);
          const T share = by == 0 ? T{} : *from / static_cast<T>(by);
          for (int64_t i = x.first; i < x.last; ++i) row[i] += share;
          ++from;
        }
        for (int64_t iz = z.first; iz < z.last; ++iz) {
          for (int64_t iy = y.first; iy < y.last; ++iy) {
            T* line = to + (iz * height + iy) * width;
            for (int64_t i = 0; i < width; ++i) line[i] += row[i];
          }
        }
      }
    }
  }
};

void shared_out(const Tensor& grad, const Windows& w, const Parts& parts, bool counts_padding,
                int64_t divisor, const Tensor& out) {
  const Averages averages{w, parts, counts_padding, divisor};
  in_compute(grad, out, [&](auto* to, const auto* from) {
    using T = std::remove_pointer_t<decltype(to)>;
    parallel_for(0, w.planes, 1 + 65536 / (w.in_plane() + 1), [&](int64_t lo, int64_t hi) {
      std::vector<T> row(static_cast<size_t>(w.axes[2].in));
      for (int64_t p = lo; p < hi; ++p)
        averages.plane(to + p * w.in_plane(), from + p * w.out_plane(), row.data());
    });
  });
}

void avg_pool_backward(const Tensor& grad, int64_t dims, const Dims& kernel_size,
                       const Dims& stride, const Dims& padding, bool ceil_mode,
                       bool count_include_pad, std::optional<int64_t> divisor, const Tensor& out) {
  const Dims dilation{1};
  const Windows w = windows_between(out.sizes(), grad.sizes(), dims,
                                    {kernel_size, stride, padding, dilation, ceil_mode});
  shared_out(grad, w, parts_of(w), count_include_pad, divisor.value_or(0), out);
}

}  // namespace

void max_pool_backward(const Tensor& grad_output, const Tensor& indices, const Dims& input_sizes,
                       int64_t dims, const Tensor& result) {
  const int64_t from_plane = plane_of(indices.sizes(), dims), plane = plane_of(input_sizes, dims);
  const Tensor positions = as_contiguous(indices);
  in_compute(grad_output, result, [&](auto* to, const auto* from) {
    using T = std::remove_pointer_t<decltype(to)>;
    const int64_t planes = numel_of(input_sizes) / plane;
    const auto* at = positions.data_as<int64_t>();
    parallel_for(0, planes, 1 + 65536 / (plane + 1), [&](int64_t lo, int64_t hi) {
      std::fill_n(to + lo * plane, (hi - lo) * plane, T{});
      for (int64_t p = lo; p < hi; ++p) {
        T* target = to + p * plane;
        for (int64_t i = p * from_plane; i < (p + 1) * from_plane; ++i) {
          // A window of padding only has the index of its first element, which is outside the
          // plane.
          if (at[i] >= 0 && at[i] < plane) target[at[i]] += from[i];
        }
      }
    });
  });
}

void avg_pool2d_backward(const Tensor& grad_output, const Dims&, const Dims& kernel_size,
                         const Dims& stride, const Dims& padding, bool ceil_mode,
                         bool count_include_pad, std::optional<int64_t> divisor_override,
                         const Tensor& result) {
  avg_pool_backward(grad_output, 2, kernel_size, stride, padding, ceil_mode, count_include_pad,
                    divisor_override, result);
}
void avg_pool3d_backward(const Tensor& grad_output, const Dims&, const Dims& kernel_size,
                         const Dims& stride, const Dims& padding, bool ceil_mode,
                         bool count_include_pad, std::optional<int64_t> divisor_override,
                         const Tensor& result) {
  avg_pool_backward(grad_output, 3, kernel_size, stride, padding, ceil_mode, count_include_pad,
                    divisor_override, result);
}

void adaptive_avg_pool_backward(const Tensor& grad_output, const Dims& input_sizes, int64_t dims,
                                const Tensor& result) {
  const Windows w = adaptive_windows_between(input_sizes, grad_output.sizes(), dims);
  shared_out(grad_output, w, shares(w), true, 0, result);
}

}  // namespace uh::kernels
