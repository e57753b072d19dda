// max_pool and max_unpool.
#include <algorithm>
#include <limits>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/pool_loops.h"
#include "base/parallel.h"
#include "generated/kernels/pooling.h"
#include "ops/pooling/windows.h"

namespace uh::kernels {
namespace {

// The maximum of an empty window (padding only): the lowest value of the result's dtype.
template <class T>
T lowest_value(DType result) {
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  T lowest{};
  visit(result, [&](auto zero) {
    using Result = decltype(zero);
    if constexpr (std::is_integral_v<Result>) lowest = std::numeric_limits<Result>::lowest();
  });
  return lowest;
}

// The windows [lo, hi) whose element `k` is inside the input.
struct Inside {
  int64_t k, lo, hi;
  Inside(const Window& w, int64_t element) : k(element) {
    const int64_t shift = k * w.dilation - w.padding;  // input index of window 0
    lo = shift >= 0 ? 0 : (-shift + w.stride - 1) / w.stride;
    hi = w.in <= shift ? 0 : (w.in - shift - 1) / w.stride + 1;
    lo = std::min(lo, w.out);
    hi = std::clamp(hi, lo, w.out);
  }
};

// The elements [first, last) of a window's kernel that are inside the input.
struct Span {
  int64_t first, last;
  Span(const Window& w, int64_t o) {
    const int64_t start = o * w.stride - w.padding;
    first = start >= 0 ? 0 : std::min((-start + w.dilation - 1) / w.dilation, w.kernel);
    last = w.in <= start ? 0 : std::min((w.in - start - 1) / w.dilation + 1, w.kernel);
    last = std::max(first, last);
  }
};

template <class T>
struct MaxPool {
  const Windows& w;
  const T lowest;
  const PoolLoops<T>& loops = pool_loops_of<T>();
  std::vector<Inside> inside = {};
  // Computed once: the divisions of a window's spans take longer than the maximum of a short row.
  std::vector<Span> spans_z = {}, spans_y = {};

  MaxPool(const Windows& windows, DType result) : w(windows), lowest(lowest_value<T>(result)) {
    // A kernel may be much longer than the input: skip the elements that are outside in all
    // windows.
    const Window& x = w.axes[2];
    const int64_t before = x.padding - (x.out - 1) * x.stride;
    const int64_t first = before > 0 ? (before + x.dilation - 1) / x.dilation : 0;
    const int64_t last = std::min(x.kernel, (x.in + x.padding - 1) / x.dilation + 1);
    for (int64_t k = first; k < last; ++k) inside.emplace_back(x, k);
    for (int64_t o = 0; o < w.axes[0].out; ++o) spans_z.emplace_back(w.axes[0], o);
    for (int64_t o = 0; o < w.axes[1].out; ++o) spans_y.emplace_back(w.axes[1], o);
  }

  // Calls row(z, y, index of the row in the plane) for each input row of output row (oz, oy).
  template <class F>
  void rows(int64_t oz, int64_t oy, const F& row) const {
    const Window &az = w.axes[0], &ay = w.axes[1];
    const Span &z = spans_z[static_cast<size_t>(oz)], &y = spans_y[static_cast<size_t>(oy)];
    for (int64_t kz = z.first; kz < z.last; ++kz) {
      const int64_t iz = oz * az.stride - az.padding + kz * az.dilation;
      for (int64_t ky = y.first; ky < y.last; ++ky)
        row(iz * ay.in + oy * ay.stride - ay.padding + ky * ay.dilation);
    }
  }

  // Takes the maximum of whole rows first, then along the remaining row.
  void values(T* out, const T* plane, T* column) const {
    const Window& ax = w.axes[2];
    for (int64_t oz = 0; oz < w.axes[0].out; ++oz) {
      for (int64_t oy = 0; oy < w.axes[1].out; ++oy, out += ax.out) {
        const T* folded = nullptr;
        bool own = false;  // `column` holds the maximum so far
        rows(oz, oy, [&](int64_t row) {
          const T* in = plane + row * ax.in;
          if (!folded) {
            folded = in;
            return;
          }
          if (!own) std::copy_n(folded, ax.in, column);
          own = true;
          folded = column;
          loops.max_row(column, in, ax.in);
        });
        std::fill_n(out, ax.out, lowest);
        if (folded) along(out, folded);
      }
    }
  }

  void along(T* out, const T* row) const {
    const Window& ax = w.axes[2];
    for (const Inside& i : inside)
      loops.max_step(out + i.lo, row + i.lo * ax.stride + i.k * ax.dilation - ax.padding, ax.stride,
                     i.hi - i.lo);
  }

  // Returns whether all elements of window `o` are inside the input.
  static bool is_whole(const Window& a, int64_t o) {
    const int64_t start = o * a.stride - a.padding;
    return start >= 0 && start + (a.kernel - 1) * a.dilation < a.in;
  }

  // Returns the offsets of a window's elements from its first.
  std::vector<int64_t> window_offsets() const {
    const Window &az = w.axes[0], &ay = w.axes[1], &ax = w.axes[2];
    std::vector<int64_t> offsets;
    for (int64_t z = 0; z < az.kernel; ++z)
      for (int64_t y = 0; y < ay.kernel; ++y)
        for (int64_t x = 0; x < ax.kernel; ++x)
          offsets.push_back((z * az.dilation * ay.in + y * ay.dilation) * ax.in + x * ax.dilation);
    return offsets;
  }

  void with_indices(T* out, int64_t* index, const T* plane) const {
    const Window &az = w.axes[0], &ay = w.axes[1], &ax = w.axes[2];
    const std::vector<int64_t> offsets = window_offsets();
    const bool whole_rows = is_whole(ax, 0) && is_whole(ax, ax.out - 1);
    for (int64_t o = 0; o < az.out * ay.out; ++o, out += ax.out, index += ax.out) {
      const int64_t oz = o / ay.out, oy = o % ay.out;
      if (whole_rows && is_whole(az, oz) && is_whole(ay, oy)) {
        const int64_t first =
            ((oz * az.stride - az.padding) * ay.in + oy * ay.stride - ay.padding) * ax.in -
            ax.padding;
        loops.max_window(out, index, plane + first, offsets.data(),
                         static_cast<int64_t>(offsets.size()), ax.stride, ax.out, first);
        continue;
      }
      const auto start = [](const Window& a, int64_t n) {
        return n * a.stride - a.padding + Span(a, n).first * a.dilation;
      };
      std::fill_n(out, ax.out, lowest);
      for (int64_t x = 0; x < ax.out; ++x)  // the first element, unless a larger one follows
        index[x] = (start(az, oz) * ay.in + start(ay, oy)) * ax.in + start(ax, x);
      rows(oz, oy, [&](int64_t row) {
        for (const Inside& i : inside) {
          const int64_t base = row * ax.in + i.lo * ax.stride + i.k * ax.dilation - ax.padding;
          loops.max_index(out + i.lo, index + i.lo, plane + base, ax.stride, i.hi - i.lo, base);
        }
      });
    }
  }
};

template <class F>
void for_planes(const Windows& w, const F& f) {
  parallel_for(0, w.planes, 1 + 65536 / (w.in_plane() + w.out_plane()), f);
}

template <class T>
void run_max(T* out, int64_t* index, const T* in, const Windows& w, DType dtype) {
  const MaxPool<T> pool(w, dtype);
  for_planes(w, [&](int64_t lo, int64_t hi) {
    std::vector<T> column(static_cast<size_t>(w.axes[2].in));
    for (int64_t p = lo; p < hi; ++p) {
      const T* plane = in + p * w.in_plane();
      if (index)
        pool.with_indices(out + p * w.out_plane(), index + p * w.out_plane(), plane);
      else
        pool.values(out + p * w.out_plane(), plane, column.data());
    }
  });
}

// `index` is undefined if only the values are requested.
void pooled(const Tensor& self, int64_t dims, const PoolArguments& a, const Tensor& out,
            const Tensor& index) {
  if (out.numel() == 0) return;
  const Windows w = windows_between(self.sizes(), out.sizes(), dims, a);
  const DType compute = pool_dtype(self.dtype());
  const Tensor in = as_contiguous(self, compute);
  const bool direct = out.is_contiguous();
  const Tensor result = direct && compute == out.dtype() ? out : empty(w.sizes, compute);
  const Tensor dense_index = !index || direct ? index : empty(w.sizes, DType::kInt64);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    run_max(result.data_as<T>(), index ? dense_index.data_as<int64_t>() : nullptr, in.data_as<T>(),
            w, out.dtype());
  };
  compute == DType::kFloat32   ? run(float{})
  : compute == DType::kFloat64 ? run(double{})
                               : run(int64_t{});
  if (!result.is_same(out)) copy_elements(out, result);
  if (index && !direct) copy_elements(index, dense_index);
}

}  // namespace

#define UH_MAX_POOL(dims)                                                                        \
  void max_pool##dims##d(const Tensor& self, const Dims& kernel_size, const Dims& stride,        \
                         const Dims& padding, const Dims& dilation, bool ceil_mode,              \
                         const Tensor& result) {                                                 \
    pooled(self, dims, {kernel_size, stride, padding, dilation, ceil_mode}, result, Tensor());   \
  }                                                                                              \
  void max_pool##dims##d_with_indices(const Tensor& self, const Dims& kernel_size,               \
                                      const Dims& stride, const Dims& padding,                   \
                                      const Dims& dilation, bool ceil_mode, const Tensor& values, \
                                      const Tensor& indices) {                                   \
    pooled(self, dims, {kernel_size, stride, padding, dilation, ceil_mode}, values, indices);    \
  }
UH_MAX_POOL(1)
UH_MAX_POOL(2)
UH_MAX_POOL(3)
#undef UH_MAX_POOL

namespace {

// out[plane][indices[i]] = self[i]; 0 elsewhere.
void unpooled(const Tensor& self, const Tensor& indices, const Dims& output_size, int64_t dims,
              const Tensor& out, std::string_view op) {
  int64_t planes = 1;
  for (int64_t d = 0; d < self.ndim() - dims; ++d) planes *= self.size(d);
  const Tensor in = as_contiguous(self), index = as_contiguous(indices);
  const Tensor result = out.is_contiguous() ? out : empty(out.sizes(), out.dtype());
  fill_elements(result, ElementBytes{});
  const int64_t from = planes ? in.numel() / planes : 0, to = planes ? result.numel() / planes : 0;
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < in.numel(); ++i) {
      const int64_t at = index.data_as<int64_t>()[i];
      check(at >= 0 && at < to, op, ": found an invalid max index: ", at,
            " (output volumes are of size ", output_size, ")");
      result.data_as<T>()[i / from * to + at] = in.data_as<T>()[i];
    }
  });
  if (!result.is_same(out)) copy_elements(out, result);
}

}  // namespace

void max_unpool2d(const Tensor& self, const Tensor& indices, const Dims& output_size,
                  const Tensor& result) {
  unpooled(self, indices, output_size, 2, result, "max_unpool2d");
}
void max_unpool3d(const Tensor& self, const Tensor& indices, const Dims& output_size, const Dims&,
                  const Dims&, const Tensor& result) {
  unpooled(self, indices, output_size, 3, result, "max_unpool3d");
}

}  // namespace uh::kernels
