#include "ops/solve/shapes.h"

#include <algorithm>

#include "ops/linalg/checks.h"
#include "ops/linalg/matrices.h"

namespace uh {
namespace {

// Throws unless the sizes of A X = B or X A = B match.
void check_equation(const Tensor& a, int64_t rows, int64_t columns, bool left,
                    std::string_view op) {
  const int64_t n = rows_of(a);
  check(n == (left ? rows : columns), op, ": Incompatible shapes of A and B for the equation ",
        left ? "AX = B" : "XA = B", " (", n, "x", columns_of(a), " and ", rows, "x", columns, ")");
}

}  // namespace

Factors empty_factors(const Tensor& a, std::string_view op) {
  const int64_t m = rows_of(a), n = columns_of(a);
  check_lapack_size(m, n, op);
  const Dims batch = batch_of(a);
  return {empty_column_major(a.sizes(), a.dtype(), a.device()),
          empty(with_last(batch, std::min(m, n)), DType::kInt32, a.device()),
          empty(batch, DType::kInt32, a.device())};
}

std::string singular_at(int index) {
  return message("U[", index, ",", index,
                 "] is zero and using it on lu_solve would result in a division by zero. If you "
                 "still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
                 "linalg.lu_factor_ex(A, pivot)");
}

bool is_vector_rhs(const Tensor& a, const Tensor& b) {
  return b.ndim() == 1 || (a.ndim() - 1 == b.ndim() && b.sizes() == batch_of(a, 1));
}

}  // namespace uh

namespace uh::shapes {

std::tuple<Tensor, Tensor, Tensor> lu_factor(const Tensor& a, bool pivot) {
  check_matrix(a, "linalg.lu_factor");
  check_lapack_dtype_unless_empty(a, "linalg.lu_factor", Lapack::kKernelOnly);
  check(pivot || a.numel() == 0,
        "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
  const auto [lu, pivots, info] = empty_factors(a, "linalg.lu_factor");
  return {lu, pivots, info};
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& lu, const Tensor& pivots,
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
  return {p, l, u};
}

Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left) {
  constexpr std::string_view kOp = "linalg.lu_solve";
  check_lapack_dtype_unless_empty(lu, kOp);
  check(pivots.dtype() == DType::kInt32,
        "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32, got ",
        name(pivots.dtype()));
  check_square(lu, kOp, "LU");
  check_matrix(b, kOp, "B");
  check_same_dtype(lu, b, kOp, "A", "B");
  check_equation(lu, rows_of(b), columns_of(b), left, kOp);
  check(pivots.sizes() == batch_of(lu, 1),
        "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
        "matrix: pivots ",
        pivots.sizes(), ", LU ", lu.sizes());
  check_lapack_size(rows_of(b), columns_of(b), kOp);
  const Dims sizes =
      matrix_sizes(broadcast_shapes(batch_of(lu), batch_of(b)), rows_of(b), columns_of(b));
  return left ? empty_column_major(sizes, b.dtype(), b.device())
              : empty(sizes, b.dtype(), b.device());
}

std::tuple<Tensor, Tensor, Tensor, Tensor> solve(const Tensor& a, const Tensor& b, bool left) {
  constexpr std::string_view kOp = "linalg.solve";
  check_lapack_dtype_unless_empty(a, kOp);
  check_same_dtype(a, b, kOp, "A", "B");
  check_square(a, kOp);
  check(b.ndim() >= 1, "linalg.solve: B must have at least one dimension");
  const bool vector = is_vector_rhs(a, b);
  if (!vector) check_matrix(b, kOp, "B");
  const int64_t rows = vector ? b.sizes().back() : rows_of(b), columns = vector ? 1 : columns_of(b);
  check_equation(a, rows, columns, left, kOp);
  check(!vector || left,
        "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. "
        "In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  check_lapack_size(rows, columns, kOp);
  const Dims batch = broadcast_shapes(batch_of(a), batch_of(b, vector ? 1 : 2));
  const Dims sizes = vector ? with_last(batch, rows) : matrix_sizes(batch, rows, columns);
  const Tensor result =
      left ? empty_column_major(sizes, b.dtype(), b.device()) : empty(sizes, b.dtype(), b.device());
  const auto [lu, pivots, info] = empty_factors(a, kOp);
  return {result, lu, pivots, info};
}

std::tuple<Tensor, Tensor> inv(const Tensor& a) {
  check_square(a, "linalg.inv");
  check_lapack_dtype(a, "linalg.inv", Lapack::kDtypes);
  check_lapack_size(rows_of(a), rows_of(a), "linalg.inv");
  return {empty_column_major(a.sizes(), a.dtype(), a.device()),
          empty(batch_of(a), DType::kInt32, a.device())};
}

std::tuple<Tensor, Tensor, Tensor> det(const Tensor& a) {
  check_square(a, "linalg.det");
  check_lapack_dtype_unless_empty(a, "linalg.det");
  const Tensor result = empty(batch_of(a), a.dtype(), a.device());
  const auto [lu, pivots, info] = empty_factors(a, "linalg.det");
  return {result, lu, pivots};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> slogdet(const Tensor& a) {
  check_square(a, "linalg.slogdet");
  check_lapack_dtype(a, "linalg.slogdet", Lapack::kDtypes);
  const Tensor sign = empty(batch_of(a), a.dtype(), a.device());
  const Tensor log = empty(batch_of(a), to_real(a.dtype()), a.device());
  const auto [lu, pivots, info] = empty_factors(a, "linalg.slogdet");
  return {sign, log, lu, pivots};
}

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool left) {
  constexpr std::string_view kOp = "linalg.solve_triangular";
  check_lapack_dtype(a, kOp, Lapack::kKernelOnly);
  check_same_dtype(a, b, kOp, "A", "B");
  check_square(a, kOp);
  check_matrix(b, kOp, "B");
  check_equation(a, rows_of(b), columns_of(b), left, kOp);
  check_lapack_size(rows_of(b), columns_of(b), kOp);
  check_lapack_size(rows_of(a), columns_of(a), kOp);
  const Dims batch = broadcast_shapes(batch_of(a), batch_of(b));
  return empty_column_major(matrix_sizes(batch, rows_of(b), columns_of(b)), b.dtype(), b.device());
}

std::tuple<Tensor, Tensor> triangular_solve(const Tensor& b, const Tensor& a) {
  check(b.ndim() >= 2 && a.ndim() >= 2,
        "torch.triangular_solve: Expected A and b to have at least 2 dimensions, but they have ",
        a.ndim(), " and ", b.ndim());
  check_lapack_dtype(a, "triangular_solve", Lapack::kKernelOnly);
  check_same_dtype(b, a, "triangular_solve", "b", "A");
  check_square(a, "triangular_solve");
  check(rows_of(a) == rows_of(b),
        "Incompatible matrix sizes for triangular_solve: each A matrix is ", rows_of(a), " by ",
        columns_of(a), " but each b matrix is ", rows_of(b), " by ", columns_of(b));
  check_lapack_size(rows_of(b), columns_of(b), "triangular_solve");
  check_lapack_size(rows_of(a), columns_of(a), "triangular_solve");
  const Dims batch = broadcast_shapes(batch_of(a), batch_of(b));
  return {
      empty_column_major(matrix_sizes(batch, rows_of(b), columns_of(b)), b.dtype(), b.device()),
      empty_column_major(matrix_sizes(batch, rows_of(a), columns_of(a)), a.dtype(), a.device())};
}

}  // namespace uh::shapes
