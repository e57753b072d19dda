// Gradients of poolings: maxima are put back in their places, means are shared out.
#include "backend/cpu/copy/elements.h"
#include "base/parallel.h"
#include "generated/kernels/pooling.h"
#include "ops/operand_checks.h"
#include "ops/pooling/common.h"

namespace uh::kernels {
namespace {

// The plane sizes of a tensor whose last `dims` dimensions are pooled.
int64_t plane_of(IntSpan sizes, int64_t dims) {
  int64_t n = 1;
  for (size_t d = sizes.size() - static_cast<size_t>(dims); d < sizes.size(); ++d) n *= sizes[d];
  return n;
}

// Whether gradient and input have the same planes, and only these differ in size.
bool same_planes(const Dims& grad, const Dims& input, int64_t dims) {
  if (dims <= 0 || grad.size() != input.size() || dims > input.ndim()) return false;
  const auto lead = static_cast<std::ptrdiff_t>(input.ndim() - dims);
  return std::equal(grad.begin(), grad.begin() + lead, input.begin());
}

// f(to, from) for float32 or float64 elements; the result in the gradient's dtype.
template <class F>
Tensor in_compute(const Tensor& grad, const Dims& sizes, std::string_view op, const F& f) {
  check_kind(is_floating(grad.dtype()), ErrorKind::kNotImplemented, "\"", op,
             "\" not implemented for '", info(grad.dtype()).title, "'");
  const DType compute = pool_dtype(grad.dtype());
  Tensor out = empty(sizes, grad.dtype(), grad.device());
  if (out.is_meta() || out.numel() == 0) return out;
  const Tensor result = compute == grad.dtype() ? out : empty(sizes, compute);
  const Tensor from = as_contiguous(grad, compute);
  if (compute == DType::kFloat32)
    f(result.data_as<float>(), from.data_as<float>());
  else
    f(result.data_as<double>(), from.data_as<double>());
  if (!result.is_same(out)) copy_elements(out, result);
  record_write(out);
  return out;
}

struct Averages {
  const Windows& w;
  const Parts& parts;
  bool counts_padding;
  int64_t divisor;

  // A row of shares is made once for every row of windows, and added to all rows they cover.
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

Tensor shared_out(const Tensor& grad, const Dims& sizes, const Windows& w, const Parts& parts,
                  bool counts_padding, int64_t divisor, std::string_view op) {
  check(w.sizes == grad.sizes(), op, ": expected grad_output of sizes ", w.sizes, ", but got ",
        grad.sizes());
  const Averages averages{w, parts, counts_padding, divisor};
  return in_compute(grad, sizes, op, [&](auto* to, const auto* from) {
    using T = std::remove_pointer_t<decltype(to)>;
    parallel_for(0, w.planes, 1 + 65536 / (w.in_plane() + 1), [&](int64_t lo, int64_t hi) {
      std::vector<T> row(static_cast<size_t>(w.axes[2].in));
      for (int64_t p = lo; p < hi; ++p)
        averages.plane(to + p * w.in_plane(), from + p * w.out_plane(), row.data());
    });
  });
}

Tensor avg_pool_backward(const Tensor& grad, const Dims& sizes, int64_t dims,
                         const Dims& kernel_size, const Dims& stride, const Dims& padding,
                         bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor,
                         std::string_view op) {
  const Dims singleton{1};
  const Tensor input = empty(sizes, grad.dtype(), Device::kMeta);  // as the checks want to see it
  const Windows w =
      make_windows(input, dims, {kernel_size, stride, padding, singleton, ceil_mode}, op);
  return shared_out(grad, sizes, w, grad.is_meta() ? Parts() : parts_of(w), count_include_pad,
                    divisor.value_or(0), op);
}

}  // namespace

Tensor max_pool_backward(KeySet, const Tensor& grad_output, const Tensor& indices,
                         const Dims& input_sizes, int64_t dims) {
  const std::string_view op = "_max_pool_backward";
  check_together(op, grad_output, {&indices}, true);
  check(indices.dtype() == DType::kInt64, op, ": expected indices of dtype int64, got ",
        info(indices.dtype()).name);
  checked_numel(input_sizes, op);
  check(
      grad_output.sizes() == indices.sizes() && same_planes(grad_output.sizes(), input_sizes, dims),
      op, ": grad_output of sizes ", grad_output.sizes(), ", indices of ", indices.sizes(),
      " and an input of ", input_sizes, " do not belong together");
  const int64_t from_plane = plane_of(indices.sizes(), dims), plane = plane_of(input_sizes, dims);
  const Tensor positions = indices.is_meta() ? indices : as_contiguous(indices);
  return in_compute(grad_output, input_sizes, op, [&](auto* to, const auto* from) {
    using T = std::remove_pointer_t<decltype(to)>;
    const int64_t planes = numel_of(input_sizes) / plane;
    const auto* at = positions.data_as<int64_t>();
    parallel_for(0, planes, 1 + 65536 / (plane + 1), [&](int64_t lo, int64_t hi) {
      std::fill_n(to + lo * plane, (hi - lo) * plane, T{});
      for (int64_t p = lo; p < hi; ++p) {
        T* target = to + p * plane;
        for (int64_t i = p * from_plane; i < (p + 1) * from_plane; ++i) {
          // A window of padding only has the index of its first element, outside of the plane.
          if (at[i] >= 0 && at[i] < plane) target[at[i]] += from[i];
        }
      }
    });
  });
}

Tensor avg_pool2d_backward(KeySet, const Tensor& grad_output, const Dims& input_sizes,
                           const Dims& kernel_size, const Dims& stride, const Dims& padding,
                           bool ceil_mode, bool count_include_pad,
                           std::optional<int64_t> divisor_override) {
  return avg_pool_backward(grad_output, input_sizes, 2, kernel_size, stride, padding, ceil_mode,
                           count_include_pad, divisor_override, "avg_pool2d_backward");
}
Tensor avg_pool3d_backward(KeySet, const Tensor& grad_output, const Dims& input_sizes,
                           const Dims& kernel_size, const Dims& stride, const Dims& padding,
                           bool ceil_mode, bool count_include_pad,
                           std::optional<int64_t> divisor_override) {
  return avg_pool_backward(grad_output, input_sizes, 3, kernel_size, stride, padding, ceil_mode,
                           count_include_pad, divisor_override, "avg_pool3d_backward");
}

Tensor adaptive_avg_pool_backward(KeySet, const Tensor& grad_output, const Dims& input_sizes,
                                  int64_t dims) {
  const std::string_view op = "_adaptive_avg_pool_backward";
  checked_numel(input_sizes, op);
  check(
      dims <= 3 && input_sizes.ndim() > dims && same_planes(grad_output.sizes(), input_sizes, dims),
      op, ": grad_output of sizes ", grad_output.sizes(), " and an input of ", input_sizes,
      " do not belong together");
  Windows w;
  w.sizes = grad_output.sizes();
  const int64_t lead = input_sizes.ndim() - dims;
  for (int64_t d = 0; d < dims; ++d) {
    const auto from = static_cast<size_t>(lead + d);
    Window& axis = w.axes[static_cast<size_t>(3 - dims + d)];
    axis.in = input_sizes[from];
    axis.out = w.sizes[from];
  }
  for (int64_t d = 0; d < lead; ++d) w.planes *= input_sizes[static_cast<size_t>(d)];
  return shared_out(grad_output, input_sizes, w, grad_output.is_meta() ? Parts() : shares(w), true,
                    0, op);
}

}  // namespace uh::kernels
