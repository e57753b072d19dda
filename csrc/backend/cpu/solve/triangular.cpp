// Triangular systems, by BLAS's trsm.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/linalg/lapack.h"
#include "backend/cpu/linalg/matrices.h"
#include "generated/kernels/solve.h"
#include "ops/geometry.h"

namespace uh::kernels {
namespace {

struct TriangleKind {
  bool upper, unit, left;
  CBLAS_TRANSPOSE transpose;
};

// x = a^-1 x or x a^-1; both column-major, a's batch broadcasts.
void solve_triangles(const Tensor& a, const Tensor& x, const TriangleKind& triangle) {
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

void linalg_solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left,
                             bool unitriangular, const Tensor& x) {
  copy_elements(x, b);
  solve_triangles(column_major_copy(a), x, {upper, unitriangular, left, CblasNoTrans});
}

void triangular_solve(const Tensor& b, const Tensor& a, bool upper, bool transpose,
                      bool unitriangular, const Tensor& x, const Tensor& copied) {
  copy_elements(x, b);
  copy_elements(copied, a);
  solve_triangles(copied, x, {upper, unitriangular, true, transpose ? CblasTrans : CblasNoTrans});
}

}  // namespace uh::kernels
