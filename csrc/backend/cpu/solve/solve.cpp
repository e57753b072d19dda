// Linear systems: LU factors, and solving with them.
#include "generated/kernels/solve.h"
#include "backend/cpu/copy/elements.h"
#include "ops/linalg/checks.h"
#include "backend/cpu/linalg/lapack.h"
#include "backend/cpu/linalg/matrices.h"
#include "backend/cpu/solve/factors.h"
#include "generated/ops/complex.h"
#include "generated/ops/creation.h"
#include "generated/ops/solve.h"
#include "generated/ops/view.h"
#include "ops/geometry.h"

namespace uh {

Factors lu_factors(const Tensor& a, std::string_view op) {
  const Dims batch = batch_of(a);
  const int64_t m = rows_of(a), n = columns_of(a), k = std::min(m, n);
  check_lapack_size(m, n, op);
  Factors result{column_major_copy(a), empty(with_last(batch, k), DType::kInt32, a.device()),
                 empty(batch, DType::kInt32, a.device())};
  if (a.is_meta()) return result;
  if (a.numel() == 0) {
    fill_elements(result.info, ElementBytes{});
  } else {
    visit_lapack(a.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for_matrices(numel_of(batch), m * n * k, [&](int64_t i) {
        result.info.data_as<int32_t>()[i] =
            std::max(0, lapack::getrf(static_cast<int>(m), static_cast<int>(n),
                                      result.lu.data_as<T>() + i * m * n, static_cast<int>(m),
                                      result.pivots.data_as<int32_t>() + i * k));
      });
    });
  }
  for (const Tensor& t : {result.lu, result.pivots, result.info}) record_write(t);
  return result;
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

void check_equation(const Tensor& a, const Tensor& b, bool left, std::string_view op) {
  const int64_t n = rows_of(a), rows = rows_of(b), columns = columns_of(b);
  check(n == (left ? rows : columns), op, ": Incompatible shapes of A and B for the equation ",
        left ? "AX = B" : "XA = B", " (", n, "x", columns_of(a), " and ", rows, "x", columns, ")");
}

}  // namespace uh

namespace uh::kernels {
namespace {

std::string singular_at(int info) {
  return message("U[", info, ",", info,
                 "] is zero and using it on lu_solve would result in a division by zero. If you "
                 "still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
                 "linalg.lu_factor_ex(A, pivot)");
}

// Returns whether b is a vector: (n,), or one per matrix of the batch.
bool is_vector_rhs(const Tensor& a, const Tensor& b) {
  return b.ndim() == 1 || (a.ndim() - 1 == b.ndim() && b.sizes() == batch_of(a, 1));
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> linalg_lu_factor_ex(KeySet, const Tensor& a, bool pivot,
                                                       bool check_errors) {
  check_matrix(a, "linalg.lu_factor");
  check_lapack_dtype_unless_empty(a, "linalg.lu_factor", Lapack::kKernelOnly);
  check(pivot || a.numel() == 0,
        "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
  Factors result = lu_factors(a, "linalg.lu_factor");
  if (check_errors) check_info(result.info, "linalg.lu_factor_ex", singular_at);
  return {result.lu, result.pivots, result.info};
}

std::tuple<Tensor, Tensor> linalg_lu_factor(KeySet, const Tensor& a, bool pivot) {
  const auto [lu, pivots, info] = ops::linalg_lu_factor_ex(a, pivot, false);
  check_info(info, "torch.linalg.lu_factor", singular_at);
  return {lu, pivots};
}

std::tuple<Tensor, Tensor, Tensor> linalg_lu(KeySet, const Tensor& a, bool pivot) {
  check_matrix(a, "linalg.lu");
  check_lapack_dtype_unless_empty(a, "linalg.lu", Lapack::kKernelOnly);
  const auto [lu, pivots, info] = ops::linalg_lu_factor_ex(a, pivot, false);
  return ops::lu_unpack(lu, pivots, true, pivot);
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(KeySet, const Tensor& lu, const Tensor& pivots,
                                             bool unpack_data, bool unpack_pivots) {
  check_matrix(lu, "torch.lu_unpack", "LU_data");
  check(!unpack_pivots || pivots.dtype() == DType::kInt32,
        "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype, "
        "got ",
        name(pivots.dtype()));
  const Dims batch = batch_of(lu);
  const int64_t m = rows_of(lu), n = columns_of(lu), k = std::min(m, n);
  const Dims nothing{0};
  const auto result = [&](bool required, int64_t rows, int64_t columns) {
    return empty(required ? matrix_sizes(batch, rows, columns) : nothing, lu.dtype(), lu.device());
  };
  const Tensor p = result(unpack_pivots, m, m), l = result(unpack_data, m, k),
               u = result(unpack_data, k, n);
  check(!unpack_pivots || pivots.sizes() == with_last(batch, k),
        "torch.lu_unpack: LU_pivots of sizes ", pivots.sizes(),
        " do not belong to LU_data of sizes ", lu.sizes());
  if (lu.is_meta()) return {p, l, u};
  const Tensor source = as_contiguous(lu);
  const Tensor exchanges = unpack_pivots ? as_contiguous(pivots) : pivots;
  const int64_t members = numel_of(batch);
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
  for (const Tensor& t : {p, l, u}) record_write(t);
  return {p, l, u};
}

Tensor linalg_lu_solve(KeySet, const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left,
                       bool adjoint) {
  constexpr std::string_view kOp = "linalg.lu_solve";
  check_lapack_dtype_unless_empty(lu, kOp);
  check(pivots.dtype() == DType::kInt32,
        "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32, got ",
        name(pivots.dtype()));
  check_square(lu, kOp, "LU");
  check_matrix(b, kOp, "B");
  check_same_dtype(lu, b, kOp, "A", "B");
  check_equation(lu, b, left, kOp);
  check(pivots.sizes() == batch_of(lu, 1),
        "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
        "matrix: pivots ",
        pivots.sizes(), ", LU ", lu.sizes());
  check_lapack_size(rows_of(b), columns_of(b), kOp);
  const Dims sizes =
      matrix_sizes(broadcast_shapes(batch_of(lu), batch_of(b)), rows_of(b), columns_of(b));
  const Tensor out =
      left ? empty_column_major(sizes, b.dtype(), b.device()) : empty(sizes, b.dtype(), b.device());
  if (out.is_meta() || out.numel() == 0) return out;
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
  record_write(out);
  return out;
}

Tensor lu_solve(KeySet, const Tensor& self, const Tensor& lu, const Tensor& pivots) {
  return ops::linalg_lu_solve(lu, pivots, self, true, false);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> solve_with_factors(KeySet, const Tensor& a,
                                                              const Tensor& b, bool left,
                                                              bool check_errors) {
  constexpr std::string_view kOp = "linalg.solve";
  check_lapack_dtype_unless_empty(a, kOp);
  check_same_dtype(a, b, kOp, "A", "B");
  check_square(a, kOp);
  check(b.ndim() >= 1, "linalg.solve: B must have at least one dimension");
  const bool vector = is_vector_rhs(a, b);
  const Tensor matrix = vector ? ops::unsqueeze(b, -1) : b;
  check_matrix(matrix, kOp, "B");
  check_equation(a, matrix, left, kOp);
  check(!vector || left,
        "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. "
        "In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  check_lapack_size(rows_of(matrix), columns_of(matrix), kOp);
  const Dims batch = broadcast_shapes(batch_of(a), batch_of(matrix));
  const Dims sizes = matrix_sizes(batch, rows_of(matrix), columns_of(matrix));
  const Dims shown_sizes = vector ? with_last(batch, rows_of(matrix)) : sizes;
  Tensor result = left ? empty_column_major(shown_sizes, b.dtype(), b.device())
                       : empty(shown_sizes, b.dtype(), b.device());
  Factors factors = lu_factors(a, kOp);
  if (!result.is_meta()) {
    if (check_errors)
      check_info(factors.info, "torch.linalg.solve",
                 [](int) { return "The solver failed because the input matrix is singular."; });
    if (vector) {
      const Tensor column = column_major_copy(matrix, sizes);
      solve_in_place(factors.lu, factors.pivots, column, 'N');
      copy_elements(result, ops::squeeze(column, Dims{-1}));
    } else {
      copy_elements(result, matrix);
      const Tensor x = left ? result : ops::transpose(result, -2, -1);
      solve_in_place(factors.lu, factors.pivots, x, left ? 'N' : 'T');
    }
    record_write(result);
  }
  return {result, factors.lu, factors.pivots, factors.info};
}

std::tuple<Tensor, Tensor> linalg_solve_ex(KeySet, const Tensor& a, const Tensor& b, bool left,
                                           bool check_errors) {
  const auto [result, lu, pivots, info] = ops::_linalg_solve_ex(a, b, left, check_errors);
  return {result, info};
}

Tensor linalg_solve(KeySet, const Tensor& a, const Tensor& b, bool left) {
  return std::get<0>(ops::linalg_solve_ex(a, b, left, true));
}

std::tuple<Tensor, Tensor> linalg_inv_ex(KeySet, const Tensor& a, bool check_errors) {
  check_square(a, "linalg.inv");
  check_lapack_dtype(a, "linalg.inv", Lapack::kDtypes);
  Tensor inverse = empty_column_major(a.sizes(), a.dtype(), a.device());
  const Factors factors = lu_factors(a, "linalg.inv");
  if (!a.is_meta()) {
    const int64_t n = rows_of(a), members = numel_of(batch_of(a));
    visit_lapack(a.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < members; ++i) set_identity(inverse.data_as<T>() + i * n * n, n, n);
    });
    solve_in_place(factors.lu, factors.pivots, inverse, 'N');
    record_write(inverse);
    if (check_errors)
      check_info(factors.info, "linalg.inv", [](int info) {
        return message("The diagonal element ", info,
                       " is zero, the inversion could not be completed because the input matrix is "
                       "singular.");
      });
  }
  return {inverse, factors.info};
}

Tensor linalg_inv(KeySet, const Tensor& a) { return std::get<0>(ops::linalg_inv_ex(a, true)); }

Tensor linalg_tensorinv(KeySet, const Tensor& self, int64_t ind) {
  check(ind > 0, "linalg.tensorinv: expected a strictly positive integer for 'ind', got ", ind);
  Dims first, rest, order;
  for (int64_t d = 0; d < self.ndim(); ++d) (d < ind ? first : rest).push_back(self.size(d));
  const int64_t rows = numel_of(first), columns = numel_of(rest);
  check(rows == columns,
        "linalg.tensorinv: expected self to satisfy the requirement prod(self.shape[ind:]) == "
        "prod(self.shape[:ind]), but got ",
        columns, " != ", rows);
  Dims sizes = rest;
  for (int64_t size : first) sizes.push_back(size);
  const auto [inverse, info] = ops::linalg_inv_ex(ops::reshape(self, {rows, columns}), false);
  check_info(info, "linalg.tensorinv",
             [](int) { return "Failed to invert the input tensor, because it is singular."; });
  return ops::reshape(inverse, sizes);
}

Tensor linalg_tensorsolve(KeySet, const Tensor& self, const Tensor& other,
                          const std::optional<Dims>& dims) {
  Tensor a = self;
  if (dims) {
    Dims to(dims->size());
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = self.ndim() - static_cast<int64_t>(dims->size()) + static_cast<int64_t>(i);
    a = ops::movedim(self, *dims, to);
  }
  Dims sizes;
  for (int64_t d = other.ndim(); d < a.ndim(); ++d) sizes.push_back(a.size(d));
  const int64_t n = numel_of(sizes);
  check(n == other.numel(),
        "linalg.tensorsolve: expected self to satisfy the requirement prod(self.shape[other.ndim:])"
        " == prod(self.shape[:other.ndim]), but got ",
        n, " != ", other.numel());
  const Tensor x =
      ops::linalg_solve(ops::reshape(a, {n, n}), ops::reshape(other, {other.numel()}), true);
  return ops::reshape(x, sizes);
}

}  // namespace uh::kernels
