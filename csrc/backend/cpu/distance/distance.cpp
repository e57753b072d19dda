// The kernels of distance.yaml.
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/distance_loops.h"
#include "base/parallel.h"
#include "generated/kernels/distance.h"
#include "generated/ops/view.h"
#include "ops/geometry.h"
#include "ops/linalg/matrices.h"

namespace uh::kernels {
namespace {

template <class F>
void with_loops(DType dtype, const F& f) {
  const DistanceLoops& loops = distance_loops();
  if (dtype == DType::kFloat32)
    f(float{}, loops.pack_float, loops.row_float);
  else
    f(double{}, loops.pack_double, loops.row_double);
}

// The elements of n packed rows.
int64_t packed_size(int64_t n, int64_t k) {
  return (n + kPackedRows - 1) / kPackedRows * kPackedRows * k;
}

template <class F>
void with_pull(DType dtype, const F& f) {
  if (dtype == DType::kFloat32)
    f(float{}, distance_loops().pull_float);
  else
    f(double{}, distance_loops().pull_double);
}

int64_t grain(int64_t per_row) {
  return std::max<int64_t>(1, 32768 / std::max<int64_t>(per_row, 1));
}

}  // namespace

void cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t>,
           const Tensor& out) {
  if (out.numel() == 0) return;
  const Dims batch = batch_of(out);
  const int64_t n = rows_of(x1), m = rows_of(x2), k = columns_of(x1);
  if (k == 0) {
    fill_elements(out, ElementBytes{});
  } else {
    const Tensor a = as_contiguous(x1), b = as_contiguous(x2);
    const auto members = [&](const Tensor& t) {
      const Dims own = batch_of(t);
      return broadcast_strides(own, contiguous_strides(own), batch.size());
    };
    const auto g = make_geometry<2>(batch, {IntSpan(members(a)), IntSpan(members(b))}, false);
    with_loops(x1.dtype(), [&](auto zero, auto pack, auto row) {
      using T = decltype(zero);
      const int64_t members = b.numel() / (m * k), packed_member = packed_size(m, k);
      const Tensor packed = empty(Dims{members * packed_member}, x1.dtype());
      T* const y = packed.data_as<T>();
      parallel_for(0, members, grain(m * k), [&](int64_t lo, int64_t hi) {
        for (int64_t i = lo; i < hi; ++i)
          pack(y + i * packed_member, b.data_as<T>() + i * m * k, m, k);
      });
      parallel_for(0, numel_of(batch) * n, grain(m * k), [&](int64_t lo, int64_t hi) {
        Odometer<2> at(g, g.sizes.size(), lo / n);
        for (int64_t i = lo; i < hi; ++i) {
          row(out.data_as<T>() + i * m, a.data_as<T>() + (at.offsets()[0] * n + i % n) * k,
              y + at.offsets()[1] * packed_member, 0, m, k, p);
          if (i % n == n - 1) at.step();
        }
      });
    });
  }
}

void pdist(const Tensor& self, double p, const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t n = rows_of(self), k = columns_of(self);
  if (k == 0) {
    fill_elements(out, ElementBytes{});
  } else {
    const Tensor a = as_contiguous(self);
    with_loops(self.dtype(), [&](auto zero, auto pack, auto row) {
      using T = decltype(zero);
      const Tensor packed = empty(Dims{packed_size(n, k)}, self.dtype());
      pack(packed.data_as<T>(), a.data_as<T>(), n, k);
      parallel_for(0, n - 1, grain(n * k), [&](int64_t lo, int64_t hi) {
        for (int64_t i = lo; i < hi; ++i)  // position of row i's distances
          row(out.data_as<T>() + i * (2 * n - i - 1) / 2, a.data_as<T>() + i * k,
              packed.data_as<T>(), i + 1, n, k, p);
      });
    });
  }
}

void cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p,
                    const Tensor& distance, const Tensor& out) {
  if (out.numel() == 0) return;
  const Dims batch = batch_of(grad);
  const int64_t n = rows_of(x1), m = rows_of(x2), k = columns_of(x1);
  const auto spread = [&](const Tensor& t, int64_t rows) {
    return as_contiguous(ops::expand(t, matrix_sizes(batch, rows, k), false));
  };
  const Tensor a = spread(x1, n), b = spread(x2, m);
  const Tensor g = as_contiguous(grad), d = as_contiguous(distance);
  with_pull(x1.dtype(), [&](auto zero, auto pull) {
    using T = decltype(zero);
    parallel_for(0, numel_of(batch) * n, grain(m * k), [&](int64_t lo, int64_t hi) {
      std::vector<T> room(static_cast<size_t>(m));
      for (int64_t i = lo; i < hi; ++i)
        pull(out.data_as<T>() + i * k, a.data_as<T>() + i * k, b.data_as<T>() + i / n * m * k,
             g.data_as<T>() + i * m, d.data_as<T>() + i * m, room.data(), m, k, p);
    });
  });
}

void pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& distance,
                    const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t n = rows_of(self), k = columns_of(self);
  const Tensor x = as_contiguous(self), g = as_contiguous(grad), d = as_contiguous(distance);
  with_pull(self.dtype(), [&](auto zero, auto pull) {
    using T = decltype(zero);
    parallel_for(0, n, grain(n * k), [&](int64_t lo, int64_t hi) {
      const auto size = static_cast<size_t>(n);
      std::vector<T> pulls(size), apart(size), room(size);
      for (int64_t i = lo; i < hi; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const int64_t low = std::min(i, j), high = std::max(i, j);
          const int64_t pair = low * (2 * n - low - 1) / 2 + high - low - 1;
          pulls[static_cast<size_t>(j)] = i == j ? T(0) : g.data_as<T>()[pair];
          apart[static_cast<size_t>(j)] = i == j ? T(0) : d.data_as<T>()[pair];
        }
        pull(out.data_as<T>() + i * k, x.data_as<T>() + i * k, x.data_as<T>(), pulls.data(),
             apart.data(), room.data(), n, k, p);
      }
    });
  });
}

}  // namespace uh::kernels
