// Mean over sliding windows, and over a requested number of even windows.
#include <algorithm>
#include <limits>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/pool_loops.h"
#include "base/parallel.h"
#include "generated/kernels/pooling.h"
#include "generated/ops/pooling.h"
#include "generated/ops/view.h"
#include "ops/pooling/common.h"

namespace uh::kernels {
namespace {

// Rows are added up first; then windows along the row if they are all equal, or one by one.
template <class T>
struct AvgPool {
  const Windows& w;
  const Parts& parts;
  bool counts_padding;
  int64_t divisor;  // 0: the number of elements

  void plane(T* out, const T* in, T* column) const {
    const PoolLoops<T>& loops = pool_loops_of<T>();
    const int64_t width = w.axes[2].in, height = w.axes[1].in;
    for (const Part& z : parts[0]) {
      for (const Part& y : parts[1]) {
        std::fill_n(column, width, T{});
        for (int64_t iz = z.first; iz < z.last; ++iz)
          for (int64_t iy = y.first; iy < y.last; ++iy)
            loops.add_step(column, in + (iz * height + iy) * width, 1, width);
        const int64_t inside =
            std::max<int64_t>(z.last - z.first, 0) * std::max<int64_t>(y.last - y.first, 0);
        along(out, column, inside, z.count * y.count);
        out += w.axes[2].out;
      }
    }
  }

  void along(T* out, const T* column, int64_t inside, int64_t area) const {
    const auto n = static_cast<int64_t>(parts[2].size());
    const Window& x = w.axes[2];
    // Windows in the middle all have the whole kernel: element by element over many windows.
    int64_t first = 0, last = 0;
    if (x.stride <= 4) {
      while (first < n && !is_full(parts[2][static_cast<size_t>(first)])) ++first;
      for (last = first; last < n && is_full(parts[2][static_cast<size_t>(last)]);) ++last;
      std::fill(out + first, out + last, T{});
      for (int64_t k = 0; k < x.kernel; ++k)
        pool_loops_of<T>().add_step(out + first, column + first * x.stride - x.padding + k,
                                    x.stride, last - first);
      divide(out + first, last - first, inside * x.kernel, area * x.kernel);
    }
    for (int64_t o = 0; o < n; ++o) {
      if (o >= first && o < last) continue;
      const Part& p = parts[2][static_cast<size_t>(o)];
      T sum{};
      for (int64_t i = p.first; i < p.last; ++i) sum += column[i];
      out[o] = sum;
      divide(out + o, 1, inside * std::max<int64_t>(p.last - p.first, 0), area * p.count);
    }
  }

  bool is_full(const Part& p) const {
    return p.last - p.first == w.axes[2].kernel && p.count == w.axes[2].kernel;
  }

  void divide(T* out, int64_t n, int64_t inside, int64_t area) const {
    const int64_t by = divisor ? divisor : counts_padding ? area : inside;
    if (inside == 0) {  // padding only: a sum of nothing is 0, whatever it is divided by
      std::fill_n(out, n, T{});
    } else if constexpr (std::is_floating_point_v<T>) {
      const T count = static_cast<T>(by);
      for (int64_t i = 0; i < n; ++i) out[i] /= count;
    } else {
      for (int64_t i = 0; i < n; ++i) out[i] = by == -1 ? T(0) - out[i] : out[i] / by;
    }
  }
};

void check_dtype(const Tensor& self, bool integers, std::string_view op) {
  const DType t = self.dtype();
  check_kind(is_floating(t) || (integers && t == DType::kInt64), ErrorKind::kNotImplemented, "\"",
             op, "\" not implemented for '", info(t).title, "'");
}

Tensor averaged(const Tensor& self, const Windows& w, const Parts& parts, bool counts_padding,
                int64_t divisor) {
  Tensor out = empty_pooled(self, w.sizes, self.dtype());
  if (out.is_meta() || out.numel() == 0) return out;
  const DType compute = pool_dtype(self.dtype());
  const Tensor in = as_contiguous(self, compute);
  const Tensor result =
      out.is_contiguous() && compute == out.dtype() ? out : empty(w.sizes, compute);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const AvgPool<T> pool{w, parts, counts_padding, divisor};
    parallel_for(0, w.planes, 1 + 65536 / (w.in_plane() + 1), [&](int64_t lo, int64_t hi) {
      std::vector<T> column(static_cast<size_t>(w.axes[2].in));
      for (int64_t p = lo; p < hi; ++p)
        pool.plane(result.data_as<T>() + p * w.out_plane(), in.data_as<T>() + p * w.in_plane(),
                   column.data());
    });
  };
  compute == DType::kFloat32   ? run(float{})
  : compute == DType::kFloat64 ? run(double{})
                               : run(int64_t{});
  if (!result.is_same(out)) copy_elements(out, result);
  record_write(out);
  return out;
}

Tensor avg_pool(const Tensor& self, int64_t dims, const Dims& kernel_size, const Dims& stride,
                const Dims& padding, bool ceil_mode, bool count_include_pad,
                std::optional<int64_t> divisor_override, std::string_view op) {
  const Dims singleton{1};
  const Windows w =
      make_windows(self, dims, {kernel_size, stride, padding, singleton, ceil_mode}, op);
  check(divisor_override.value_or(1) != 0, op, ": divisor must be not zero");
  check_dtype(self, true, op);
  return averaged(self, w, self.is_meta() ? Parts() : parts_of(w), count_include_pad,
                  divisor_override.value_or(0));
}

}  // namespace

Tensor avg_pool1d(KeySet, const Tensor& self, const Dims& kernel_size, const Dims& stride,
                  const Dims& padding, bool ceil_mode, bool count_include_pad) {
  return avg_pool(self, 1, kernel_size, stride, padding, ceil_mode, count_include_pad, std::nullopt,
                  "avg_pool1d");
}
Tensor avg_pool2d(KeySet, const Tensor& self, const Dims& kernel_size, const Dims& stride,
                  const Dims& padding, bool ceil_mode, bool count_include_pad,
                  std::optional<int64_t> divisor_override) {
  return avg_pool(self, 2, kernel_size, stride, padding, ceil_mode, count_include_pad,
                  divisor_override, "avg_pool2d");
}
Tensor avg_pool3d(KeySet, const Tensor& self, const Dims& kernel_size, const Dims& stride,
                  const Dims& padding, bool ceil_mode, bool count_include_pad,
                  std::optional<int64_t> divisor_override) {
  return avg_pool(self, 3, kernel_size, stride, padding, ceil_mode, count_include_pad,
                  divisor_override, "avg_pool3d");
}

namespace {

Windows adaptive_windows(const Tensor& self, int64_t dims, const Dims& requested,
                         std::string_view op) {
  check(requested.size() == 1 || requested.ndim() == dims, op, ": output_size must be ", dims,
        " numbers or one, got ", requested);
  const Dims output_size =
      requested.size() == 1 ? Dims(static_cast<size_t>(dims), requested[0]) : requested;
  for (const int64_t size : output_size)
    check(size >= 0 && size <= INT32_MAX, op,
          ": elements of output_size must be greater than or equal to 0 but received ",
          output_size);
  check(self.ndim() == dims + 1 || self.ndim() == dims + 2, op, ": expected ", dims + 1, "D or ",
        dims + 2, "D tensor, but got ", self.sizes());
  Windows w;
  w.sizes = self.sizes();
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t d = self.ndim() - dims + i;
    check(self.size(d) > 0, op,
          ": expected input to have non-zero size for non-batch dimensions, but input has sizes ",
          self.sizes(), " with dimension ", d, " being empty");
    check(self.size(d) <= INT32_MAX, op, ": sizes above 2^31 are not supported, got ",
          self.sizes());
    Window& axis = w.axes[static_cast<size_t>(3 - dims + i)];
    axis.in = self.size(d);
    axis.out = output_size[static_cast<size_t>(i)];
    axis.stride = INT32_MAX;  // windows differ
    w.sizes[static_cast<size_t>(d)] = axis.out;
  }
  for (int64_t d = 0; d < self.ndim() - dims; ++d) w.planes *= self.size(d);
  return w;
}

Tensor adaptive_avg(const Tensor& self, int64_t dims, const Dims& output_size,
                    std::string_view op) {
  const Windows w = adaptive_windows(self, dims, output_size, op);
  check_dtype(self, false, op);
  return averaged(self, w, self.is_meta() ? Parts() : shares(w), true, 0);
}

template <class T>
void adaptive_max_plane(T* out, int64_t* index, const T* in, const Windows& w, const Parts& parts) {
  const int64_t width = w.axes[2].in, height = w.axes[1].in;
  for (const Part& z : parts[0]) {
    for (const Part& y : parts[1]) {
      for (const Part& x : parts[2]) {
        int64_t best = (z.first * height + y.first) * width + x.first;
        T value = -std::numeric_limits<T>::infinity();
        for (int64_t iz = z.first; iz < z.last; ++iz) {
          for (int64_t iy = y.first; iy < y.last; ++iy) {
            const int64_t row = (iz * height + iy) * width;
            for (int64_t ix = x.first; ix < x.last; ++ix) {
              const T v = in[row + ix];
              if (v > value || v != v) {
                value = v;
                best = row + ix;
              }
            }
          }
        }
        *out++ = value;
        *index++ = best;
      }
    }
  }
}

std::tuple<Tensor, Tensor> adaptive_max(const Tensor& self, int64_t dims, const Dims& output_size,
                                        std::string_view op) {
  const Windows w = adaptive_windows(self, dims, output_size, op);
  for (int64_t d = self.ndim() == dims + 2 ? 1 : 0; d < self.ndim(); ++d)
    check(self.size(d) > 0, op,
          ": expected input to have non-zero size for non-batch dimensions, but input has sizes ",
          self.sizes());
  check_dtype(self, false, op);
  Tensor out = empty_pooled(self, w.sizes, self.dtype());
  Tensor index = empty_pooled(self, w.sizes, DType::kInt64);
  if (out.is_meta() || out.numel() == 0) return {out, index};
  const Parts parts = shares(w);
  const DType compute = pool_dtype(self.dtype());
  const Tensor in = as_contiguous(self, compute);
  const bool direct = out.is_contiguous();
  const Tensor result = direct && compute == out.dtype() ? out : empty(w.sizes, compute);
  const Tensor made_index = direct ? index : empty(w.sizes, DType::kInt64);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    parallel_for(0, w.planes, 1 + 65536 / (w.in_plane() + 1), [&](int64_t lo, int64_t hi) {
      for (int64_t p = lo; p < hi; ++p)
        adaptive_max_plane(result.data_as<T>() + p * w.out_plane(),
                           made_index.data_as<int64_t>() + p * w.out_plane(),
                           in.data_as<T>() + p * w.in_plane(), w, parts);
    });
  };
  compute == DType::kFloat32 ? run(float{}) : run(double{});
  if (!result.is_same(out)) copy_elements(out, result);
  if (!direct) copy_elements(index, made_index);
  record_write(out);
  record_write(index);
  return {out, index};
}

}  // namespace

Tensor adaptive_avg_pool1d(KeySet, const Tensor& self, const Dims& output_size) {
  return adaptive_avg(self, 1, output_size, "adaptive_avg_pool1d");
}
Tensor adaptive_avg_pool2d(KeySet, const Tensor& self, const Dims& output_size) {
  return adaptive_avg(self, 2, output_size, "adaptive_avg_pool2d");
}
Tensor adaptive_avg_pool3d(KeySet, const Tensor& self, const Dims& output_size) {
  return adaptive_avg(self, 3, output_size, "adaptive_avg_pool3d");
}
std::tuple<Tensor, Tensor> adaptive_max_pool1d(KeySet, const Tensor& self,
                                               const Dims& output_size) {
  return adaptive_max(self, 1, output_size, "adaptive_max_pool1d");
}
std::tuple<Tensor, Tensor> adaptive_max_pool2d(KeySet, const Tensor& self,
                                               const Dims& output_size) {
  return adaptive_max(self, 2, output_size, "adaptive_max_pool2d");
}
std::tuple<Tensor, Tensor> adaptive_max_pool3d(KeySet, const Tensor& self,
                                               const Dims& output_size) {
  return adaptive_max(self, 3, output_size, "adaptive_max_pool3d");
}

}  // namespace uh::kernels
