// Triangular systems, by BLAS's trsm.
#include "ops/linalg/checks.h"
#include "backend/cpu/linalg/lapack.h"
#include "backend/cpu/linalg/matrices.h"
#include "backend/cpu/solve/factors.h"
#include "generated/kernels/solve.h"
#include "ops/geometry.h"

namespace uh::kernels {
namespace {

struct Triangle {
  bool upper, unit, left;
  CBLAS_TRANSPOSE transpose;
};

// x = a^-1 x or x a^-1; both column-major, a's batch broadcasts.
void solve_triangles(const Tensor& a, const Tensor& x, const Triangle& triangle) {
  if (x.numel() == 0) return;
  const Dims batch = batch_of(x), own = batch_of(a);
  const int64_t n = rows_of(a), m = rows_of(x), k = columns_of(x);
  const Dims strides = broadcast_strides(own, contiguous_strides(own), batch.size());
  const auto g = make_geometry<1>(batch, {IntSpan(strides)}, false);
  visit_lapack(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_matrices(numel_of(batch), n * m * k, [&](int64_t i) {
      const Odometer<1> at(g, g.sizes.size(), i);
      lapack::trsm(triangle.left ? CblasLeft : CblasRight, triangle.upper ? CblasUpper : CblasLower,
                   triangle.transpose, triangle.unit ? CblasUnit : CblasNonUnit,
                   static_cast<int>(m), static_cast<int>(k),
                   a.data_as<T>() + at.offsets()[0] * n * n, static_cast<int>(n),
                   x.data_as<T>() + i * m * k, static_cast<int>(m));
    });
  });
}

}  // namespace

Tensor linalg_solve_triangular(KeySet, const Tensor& a, const Tensor& b, bool upper, bool left,
                               bool unitriangular) {
  constexpr std::string_view kOp = "linalg.solve_triangular";
  check_lapack_dtype(a, kOp, Lapack::kKernelOnly);
  check_same_dtype(a, b, kOp, "A", "B");
  check_square(a, kOp);
  check_matrix(b, kOp, "B");
  check_equation(a, b, left, kOp);
  check_lapack_size(rows_of(b), columns_of(b), kOp);
  check_lapack_size(rows_of(a), columns_of(a), kOp);
  const Dims batch = broadcast_shapes(batch_of(a), batch_of(b));
  const Tensor x = column_major_copy(b, matrix_sizes(batch, rows_of(b), columns_of(b)));
  if (x.is_meta()) return x;
  solve_triangles(column_major_copy(a), x, {upper, unitriangular, left, CblasNoTrans});
  record_write(x);
  return x;
}

std::tuple<Tensor, Tensor> triangular_solve(KeySet, const Tensor& b, const Tensor& a, bool upper,
                                            bool transpose, bool unitriangular) {
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
  const Tensor x = column_major_copy(b, matrix_sizes(batch, rows_of(b), columns_of(b)));
  const Tensor copied = column_major_copy(a, matrix_sizes(batch, rows_of(a), columns_of(a)));
  if (x.is_meta()) return {x, copied};
  solve_triangles(copied, x, {upper, unitriangular, true, transpose ? CblasTrans : CblasNoTrans});
  record_write(x);
  record_write(copied);
  return {x, copied};
}

}  // namespace uh::kernels
