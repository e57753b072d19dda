// Linear systems: LU factors, and solving with them.
#include "generated/kernels/solve.h"
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/linalg/lapack.h"
#include "backend/cpu/linalg/matrices.h"
#include "backend/cpu/solve/blocked_lu.h"
#include "backend/cpu/solve/factors.h"
#include "generated/ops/complex.h"
#include "generated/ops/view.h"
#include "ops/geometry.h"

namespace uh {

void write_factors(const Tensor& a, const Factors& factors) {
  if (a.numel() == 0) return fill_elements(factors.info, ElementBytes{});
  const int64_t m = rows_of(a), n = columns_of(a), k = std::min(m, n);
  copy_elements(factors.lu, a);
  visit_lapack(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_matrices(factors.info.numel(), m * n * k, [&](int64_t i) {
      if constexpr (!is_complex_v<T>) {
        if (is_for_blocked_lu<T>(m, n)) {
          factors.info.data_as<int32_t>()[i] = blocked_lu(
              factors.lu.data_as<T>() + i * n * n, n, factors.pivots.data_as<int32_t>() + i * n);
          return;
        }
      }
      factors.info.data_as<int32_t>()[i] =
          std::max(0, lapack::getrf(static_cast<int>(m), static_cast<int>(n),
                                    factors.lu.data_as<T>() + i * m * n, static_cast<int>(m),
                                    factors.pivots.data_as<int32_t>() + i * k));
    });
  });
}

void solve_in_place(const Tensor& lu, const Tensor& pivots, const Tensor& x, char trans) {
  if (x.numel() == 0) return;
  const Dims batch = batch_of(x);
  const int64_t n = rows_of(x), k = columns_of(x);
  // Returns the matrix of each batch member: factors with a smaller batch broadcast.
  const auto members = [&](const Tensor& t, int64_t own) {
    const Dims sizes = batch_of(t, own);
    return broadcast_strides(sizes, contiguous_strides(sizes), batch.size());
  };
  const auto g =
      make_geometry<2>(batch, {IntSpan(members(lu, 2)), IntSpan(members(pivots, 1))}, false);
  visit_lapack(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_matrices(numel_of(batch), n * n * k, [&](int64_t i) {
      const Odometer<2> at(g, g.sizes.size(), i);
      lapack::getrs(trans, static_cast<int>(n), static_cast<int>(k),
                    lu.data_as<T>() + at.offsets()[0] * n * n, static_cast<int>(n),
                    pivots.data_as<int32_t>() + at.offsets()[1] * n, x.data_as<T>() + i * n * k,
                    static_cast<int>(n));
    });
  });
}

}  // namespace uh

namespace uh::kernels {
namespace {

// Inverts small real matrices without LAPACK. Returns false, without results, if it cannot.
bool invert_small(const Tensor& a, const Tensor& inverse, const Tensor& info) {
  const int64_t n = rows_of(a);
  return visit_small(a.dtype(), n, n, [&](auto zero) {
    using T = decltype(zero);
    const Tensor rows = as_contiguous(a);
    return for_small_matrices(info.numel(), n * n * n, [&](int64_t i) {
      return small_matrix_loops().of<T>().invert(rows.data_as<T>() + i * n * n, n,
                                                 inverse.data_as<T>() + i * n * n,
                                                 info.data_as<int32_t>() + i);
    });
  });
}

void invert(const Tensor& a, const Tensor& inverse, const Tensor& info) {
  Factors factors = empty_factors(a, "linalg.inv");
  factors.info = info;
  write_factors(a, factors);
  const int64_t n = rows_of(a);
  visit_lapack(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < info.numel(); ++i) set_identity(inverse.data_as<T>() + i * n * n, n, n);
  });
  solve_in_place(factors.lu, factors.pivots, inverse, 'N');
}

}  // namespace

void lu_factor(const Tensor& a, bool, bool check_errors, const Tensor& lu, const Tensor& pivots,
               const Tensor& info) {
  write_factors(a, {lu, pivots, info});
  if (check_errors) check_info(info, "linalg.lu_factor_ex", singular_at);
}

void lu_unpack(const Tensor& lu, const Tensor& pivots, bool unpack_data, bool unpack_pivots,
               const Tensor& p, const Tensor& l, const Tensor& u) {
  const int64_t m = rows_of(lu), n = columns_of(lu), k = std::min(m, n);
  const Tensor source = as_contiguous(lu);
  const Tensor exchanges = unpack_pivots ? as_contiguous(pivots) : pivots;
  const int64_t members = numel_of(batch_of(lu));
  visit_any(lu.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t b = 0; b < members; ++b) {
      const T* from = source.data_as<T>() + b * m * n;
      if (unpack_data) {
        T *low = l.data_as<T>() + b * m * k, *up = u.data_as<T>() + b * k * n;
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < k; ++j)
            low[i * k + j] = i == j ? T(1) : i > j ? from[i * n + j] : T(0);
        for (int64_t i = 0; i < k; ++i)
          for (int64_t j = 0; j < n; ++j) up[i * n + j] = i <= j ? from[i * n + j] : T(0);
      }
      if (!unpack_pivots) continue;
      Dims order(static_cast<size_t>(m));
      for (int64_t i = 0; i < m; ++i) order[static_cast<size_t>(i)] = i;
      for (int64_t i = 0; i < k; ++i) {
        const int64_t other = exchanges.data_as<int32_t>()[b * k + i] - int64_t{1};
        check(other >= 0 && other < m, "torch.lu_unpack: LU_pivots must be between 1 and ", m,
              ", got ", other + 1);
        std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(other)]);
      }
      T* to = p.data_as<T>() + b * m * m;
      std::fill(to, to + m * m, T(0));
      for (int64_t i = 0; i < m; ++i) to[order[static_cast<size_t>(i)] * m + i] = T(1);
    }
  });
}

void linalg_lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left,
                     bool adjoint, const Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor exchanges = as_contiguous(pivots);
  for (int64_t i = 0; i < exchanges.numel(); ++i) {
    const int32_t row = exchanges.data_as<int32_t>()[i];
    check(row >= 1 && row <= rows_of(lu), "linalg.lu_solve: pivots must be between 1 and ",
          rows_of(lu), ", got ", row);
  }
  copy_elements(out, b);
  const Tensor packed = column_major_copy(lu);
  if (left) {
    solve_in_place(packed, exchanges, out, adjoint ? 'C' : 'N');
  } else {
    // X A = B is A^T X^T = B^T, and a row-major X is a column-major X^T. Its adjoint, X A^H = B, is
    // conj(A) X^T = B^T: conjugated, A conj(X^T) = conj(B^T).
    const Tensor turned = ops::transpose(out, -2, -1);
    if (!adjoint) {
      solve_in_place(packed, exchanges, turned, 'T');
    } else {
      if (is_complex(out.dtype())) copy_elements(out, ops::conj_physical(out));
      solve_in_place(packed, exchanges, turned, 'N');
      if (is_complex(out.dtype())) copy_elements(out, ops::conj_physical(out));
    }
  }
}

void solve_with_factors(const Tensor& a, const Tensor& b, bool left, bool check_errors,
                        const Tensor& result, const Tensor& lu, const Tensor& pivots,
                        const Tensor& info) {
  write_factors(a, {lu, pivots, info});
  if (check_errors)
    check_info(info, "torch.linalg.solve",
               [](int) { return "The solver failed because the input matrix is singular."; });
  if (is_vector_rhs(a, b)) {
    const Tensor column = column_major_copy(ops::unsqueeze(b, -1), with_last(result.sizes(), 1));
    solve_in_place(lu, pivots, column, 'N');
    return copy_elements(result, ops::squeeze(column, Dims{-1}));
  }
  copy_elements(result, b);
  const Tensor x = left ? result : ops::transpose(result, -2, -1);
  solve_in_place(lu, pivots, x, left ? 'N' : 'T');
}

void linalg_inv_ex(const Tensor& a, bool check_errors, const Tensor& inverse, const Tensor& info) {
  if (!invert_small(a, inverse, info)) invert(a, inverse, info);
  if (check_errors)
    check_info(info, "linalg.inv", [](int index) {
      return message("The diagonal element ", index,
                     " is zero, the inversion could not be completed because the input matrix is "
                     "singular.");
    });
}

}  // namespace uh::kernels
