// avg_pool and adaptive_avg_pool.
#include <algorithm>
#include <limits>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/pool_loops.h"
#include "backend/cpu/reduce/reducer.h"
#include "base/parallel.h"
#include "generated/kernels/pooling.h"
#include "ops/pooling/common.h"

namespace uh::kernels {
namespace {

// Adds rows first; then sums windows along the row, together if they are equal, else one by one.
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
    // Middle windows have the whole kernel: element by element over many windows.
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
    if (inside == 0) {  // padding only: the sum is 0
      std::fill_n(out, n, T{});
    } else if constexpr (std::is_floating_point_v<T>) {
      const T count = static_cast<T>(by);
      for (int64_t i = 0; i < n; ++i) out[i] /= count;
    } else {
      for (int64_t i = 0; i < n; ++i) out[i] = by == -1 ? T(0) - out[i] : out[i] / by;
    }
  }
};

void averaged(const Tensor& self, const Windows& w, const Parts& parts, bool counts_padding,
              int64_t divisor, const Tensor& out) {
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
}

void avg_pool(const Tensor& self, int64_t dims, const Dims& kernel_size, const Dims& stride,
              const Dims& padding, bool ceil_mode, bool count_include_pad,
              std::optional<int64_t> divisor_override, const Tensor& out) {
  if (out.numel() == 0) return;
  const Dims dilation{1};
  const Windows w = windows_between(self.sizes(), out.sizes(), dims,
                                    {kernel_size, stride, padding, dilation, ceil_mode});
  averaged(self, w, parts_of(w), count_include_pad, divisor_override.value_or(0), out);
}

void adaptive_avg(const Tensor& self, int64_t dims, const Tensor& out) {
  if (out.numel() == 0) return;
  const Windows w = adaptive_windows_between(self.sizes(), out.sizes(), dims);
  if (w.out_plane() == 1 && is_floating(self.dtype()) && w.in_plane() > 0) {
    Dims plane;
    for (int64_t d = self.ndim() - dims; d < self.ndim(); ++d) plane.push_back(d);
    return run_fold(*find_fold_operator("mean"), self, plane, out);
  }
  averaged(self, w, shares(w), true, 0, out);
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

void adaptive_max(const Tensor& self, int64_t dims, const Tensor& out, const Tensor& index) {
  if (out.numel() == 0) return;
  const Windows w = adaptive_windows_between(self.sizes(), out.sizes(), dims);
  const Parts parts = shares(w);
  const DType compute = pool_dtype(self.dtype());
  const Tensor in = as_contiguous(self, compute);
  const bool direct = out.is_contiguous();
  const Tensor result = direct && compute == out.dtype() ? out : empty(w.sizes, compute);
  const Tensor dense_index = direct ? index : empty(w.sizes, DType::kInt64);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    parallel_for(0, w.planes, 1 + 65536 / (w.in_plane() + 1), [&](int64_t lo, int64_t hi) {
      for (int64_t p = lo; p < hi; ++p)
        adaptive_max_plane(result.data_as<T>() + p * w.out_plane(),
                           dense_index.data_as<int64_t>() + p * w.out_plane(),
                           in.data_as<T>() + p * w.in_plane(), w, parts);
    });
  };
  compute == DType::kFloat32 ? run(float{}) : run(double{});
  if (!result.is_same(out)) copy_elements(out, result);
  if (!direct) copy_elements(index, dense_index);
}

}  // namespace

void avg_pool1d(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                const Dims& padding, bool ceil_mode, bool count_include_pad, const Tensor& result) {
  avg_pool(self, 1, kernel_size, stride, padding, ceil_mode, count_include_pad, std::nullopt,
           result);
}
void avg_pool2d(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                const Dims& padding, bool ceil_mode, bool count_include_pad,
                std::optional<int64_t> divisor_override, const Tensor& result) {
  avg_pool(self, 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override,
           result);
}
void avg_pool3d(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                const Dims& padding, bool ceil_mode, bool count_include_pad,
                std::optional<int64_t> divisor_override, const Tensor& result) {
  avg_pool(self, 3, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override,
           result);
}

#define UH_ADAPTIVE_POOL(dims)                                                                     \
  void adaptive_avg_pool##dims##d(const Tensor& self, const Dims&, const Tensor& result) {         \
    adaptive_avg(self, dims, result);                                                              \
  }                                                                                                \
  void adaptive_max_pool##dims##d(const Tensor& self, const Dims&, const Tensor& values,           \
                                  const Tensor& indices) {                                         \
    adaptive_max(self, dims, values, indices);                                                     \
  }
UH_ADAPTIVE_POOL(1)
UH_ADAPTIVE_POOL(2)
UH_ADAPTIVE_POOL(3)
#undef UH_ADAPTIVE_POOL

}  // namespace uh::kernels
