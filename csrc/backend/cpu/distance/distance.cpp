// The operators of distance.yaml.
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/distance_loops.h"
#include "backend/cpu/linalg/matrices.h"
#include "base/parallel.h"
#include "generated/kernels/distance.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/norms.h"
#include "generated/ops/view.h"
#include "ops/geometry.h"
#include "ops/operand_checks.h"

namespace uh::kernels {
namespace {

void check_distance(const Tensor& t, double p, std::string_view op) {
  check(t.dtype() == DType::kFloat32 || t.dtype() == DType::kFloat64, op,
        " only supports floating-point dtypes float32 and float64, got: ", name(t.dtype()));
  check(p >= 0, op, " only supports non-negative p values, got ", p);
}

template <class F>
void with_loop(DType dtype, const F& f) {
  if (dtype == DType::kFloat32)
    f(float{}, distance_loops().row_float);
  else
    f(double{}, distance_loops().row_double);
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

Tensor cdist(KeySet, const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> mode) {
  check(x1.ndim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", x1.ndim(), "D");
  check(x2.ndim() >= 2, "cdist only supports at least 2D tensors, X2 got: ", x2.ndim(), "D");
  check(columns_of(x1) == columns_of(x2),
        "X1 and X2 must have the same number of columns. X1: ", columns_of(x1),
        " X2: ", columns_of(x2));
  check_distance(x1, p, "cdist");
  check_distance(x2, p, "cdist");
  check(x1.dtype() == x2.dtype(), "cdist: expected X1 and X2 of the same dtype, got ",
        name(x1.dtype()), " and ", name(x2.dtype()));
  check(mode.value_or(0) >= 0 && mode.value_or(0) <= 2,
        "cdist: possible modes: 0, 1, 2, but was: ", mode.value_or(0));
  const Dims batch = broadcast_shapes(batch_of(x1), batch_of(x2));
  const int64_t n = rows_of(x1), m = rows_of(x2), k = columns_of(x1);
  const Tensor out = empty(matrix_sizes(batch, n, m), x1.dtype(), x1.device());
  if (out.is_meta() || out.numel() == 0) return out;
  if (k == 0) {
    fill_elements(out, ElementBytes{});
  } else {
    const Tensor a = as_contiguous(x1), b = as_contiguous(x2);
    const auto members = [&](const Tensor& t) {
      const Dims own = batch_of(t);
      return broadcast_strides(own, contiguous_strides(own), batch.size());
    };
    const auto g = make_geometry<2>(batch, {IntSpan(members(a)), IntSpan(members(b))}, false);
    with_loop(x1.dtype(), [&](auto zero, auto loop) {
      using T = decltype(zero);
      parallel_for(0, numel_of(batch) * n, grain(m * k), [&](int64_t lo, int64_t hi) {
        Odometer<2> at(g, g.sizes.size(), lo / n);
        for (int64_t i = lo; i < hi; ++i) {
          loop(out.data_as<T>() + i * m, a.data_as<T>() + (at.offsets()[0] * n + i % n) * k,
               b.data_as<T>() + at.offsets()[1] * m * k, m, k, p);
          if (i % n == n - 1) at.step();
        }
      });
    });
  }
  record_write(out);
  return out;
}

Tensor pdist(KeySet, const Tensor& self, double p) {
  check(self.ndim() == 2, "pdist only supports 2D tensors, got: ", self.ndim(), "D");
  const int64_t n = rows_of(self), k = columns_of(self);
  check(is_floating(self.dtype()), "pdist only supports floating-point dtypes");
  check_kind(n < 2 || k == 0 || !is_reduced_floating(self.dtype()), ErrorKind::kNotImplemented,
             "\"pdist\" not implemented for '", info(self.dtype()).title, "'");
  check(p >= 0, "pdist only supports non-negative p values, got ", p);
  const Tensor out = empty(Dims{n < 2 ? 0 : n * (n - 1) / 2}, self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  if (k == 0) {
    fill_elements(out, ElementBytes{});
  } else {
    const Tensor a = as_contiguous(self);
    with_loop(self.dtype(), [&](auto zero, auto loop) {
      using T = decltype(zero);
      parallel_for(0, n - 1, grain(n * k), [&](int64_t lo, int64_t hi) {
        for (int64_t i = lo; i < hi; ++i)  // position of row i's distances
          loop(out.data_as<T>() + i * (2 * n - i - 1) / 2, a.data_as<T>() + i * k,
               a.data_as<T>() + (i + 1) * k, n - i - 1, k, p);
      });
    });
  }
  record_write(out);
  return out;
}

Tensor cdist_backward(KeySet, const Tensor& grad, const Tensor& x1, const Tensor& x2, double p,
                      const Tensor& distance) {
  const std::string_view op = "_cdist_backward";
  check_distance(x1, p, op);
  check_together(op, x1, {&x2, &grad, &distance});
  check(x1.ndim() >= 2 && x2.ndim() >= 2 && grad.ndim() >= 2 && columns_of(x1) == columns_of(x2),
        op, ": x1 of sizes ", x1.sizes(), " and x2 of ", x2.sizes(), " do not belong together");
  const int64_t n = rows_of(x1), m = rows_of(x2), k = columns_of(x1);
  const Dims batch = batch_of(grad);
  check(grad.sizes() == matrix_sizes(batch, n, m) && distance.sizes() == grad.sizes(), op,
        ": the gradient has sizes ", grad.sizes(), " and the distances ", distance.sizes(), " for ",
        n, " x ", m, " pairs");
  const Tensor out = empty(matrix_sizes(batch, n, k), x1.dtype(), x1.device());
  if (out.is_meta() || out.numel() == 0) return out;
  const auto spread = [&](const Tensor& t, int64_t rows) {
    return as_contiguous(ops::expand(t, matrix_sizes(batch, rows, k), false));
  };
  const Tensor a = spread(x1, n), b = spread(x2, m);
  const Tensor g = as_contiguous(grad), d = as_contiguous(distance);
  with_pull(x1.dtype(), [&](auto zero, auto pull) {
    using T = decltype(zero);
    parallel_for(0, numel_of(batch) * n, grain(m * k), [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i)
        pull(out.data_as<T>() + i * k, a.data_as<T>() + i * k, b.data_as<T>() + i / n * m * k,
             g.data_as<T>() + i * m, d.data_as<T>() + i * m, m, k, p);
    });
  });
  record_write(out);
  return out;
}

Tensor pdist_backward(KeySet, const Tensor& grad, const Tensor& self, double p,
                      const Tensor& distance) {
  const std::string_view op = "_pdist_backward";
  check_distance(self, p, op);
  check_together(op, self, {&grad, &distance});
  check(self.ndim() == 2, op, ": expected a 2D tensor, got sizes ", self.sizes());
  const int64_t n = rows_of(self), k = columns_of(self);
  const Dims pairs{self.is_meta() ? grad.numel() : n * (n - 1) / 2};
  check(grad.sizes() == pairs && distance.sizes() == pairs, op, ": the gradient has sizes ",
        grad.sizes(), " and the distances ", distance.sizes(), " for ", pairs, " pairs");
  const Tensor out = empty(self.sizes(), self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  const Tensor x = as_contiguous(self), g = as_contiguous(grad), d = as_contiguous(distance);
  with_pull(self.dtype(), [&](auto zero, auto pull) {
    using T = decltype(zero);
    parallel_for(0, n, grain(n * k), [&](int64_t lo, int64_t hi) {
      std::vector<T> pulls(static_cast<size_t>(n)), apart(static_cast<size_t>(n));
      for (int64_t i = lo; i < hi; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const int64_t low = std::min(i, j), high = std::max(i, j);
          const int64_t pair = low * (2 * n - low - 1) / 2 + high - low - 1;
          pulls[static_cast<size_t>(j)] = i == j ? T(0) : g.data_as<T>()[pair];
          apart[static_cast<size_t>(j)] = i == j ? T(0) : d.data_as<T>()[pair];
        }
        pull(out.data_as<T>() + i * k, x.data_as<T>() + i * k, x.data_as<T>(), pulls.data(),
             apart.data(), n, k, p);
      }
    });
  });
  record_write(out);
  return out;
}

Tensor pairwise_distance(KeySet, const Tensor& x1, const Tensor& x2, double p, double eps,
                         bool keepdim) {
  const Tensor difference = ops::add(ops::sub(x1, x2, Scalar(1)), Scalar(eps), Scalar(1));
  return ops::linalg_vector_norm(difference, Scalar(p), Dims{-1}, keepdim, DType::kUndefined);
}

}  // namespace uh::kernels
