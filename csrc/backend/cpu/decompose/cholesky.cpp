// Cholesky factors, solving and inverting with them.
#include "backend/cpu/copy/elements.h"
#include "ops/linalg/checks.h"
#include "backend/cpu/linalg/lapack.h"
#include "backend/cpu/linalg/matrices.h"
#include "generated/kernels/decompose.h"
#include "generated/ops/decompose.h"
#include "ops/geometry.h"

namespace uh::kernels {
namespace {

std::string not_positive(int info) {
  return message(
      "The factorization could not be completed because the input is not positive-definite (the "
      "leading minor of order ",
      info, " is not positive-definite).");
}

char triangle(bool upper) { return upper ? 'U' : 'L'; }

}  // namespace

std::tuple<Tensor, Tensor> linalg_cholesky_ex(KeySet, const Tensor& self, bool upper,
                                              bool check_errors) {
  check_square(self, "linalg.cholesky");
  check_lapack_dtype_unless_empty(self, "linalg.cholesky");
  const int64_t n = rows_of(self);
  check_lapack_size(n, n, "linalg.cholesky");
  const Tensor factor = column_major_copy(self);
  const Tensor info = empty(batch_of(self), DType::kInt32, self.device());
  if (self.is_meta()) return {factor, info};
  fill_elements(info, ElementBytes{});
  if (self.numel() > 0) {
    visit_lapack(self.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for_matrices(info.numel(), n * n * n / 3, [&](int64_t i) {
        T* a = factor.data_as<T>() + i * n * n;
        clear_triangle(a, n, n, !upper);
        info.data_as<int32_t>()[i] =
            lapack::potrf(triangle(upper), static_cast<int>(n), a, static_cast<int>(n));
      });
    });
  }
  record_write(factor);
  record_write(info);
  if (check_errors) check_info(info, "linalg.cholesky_ex", not_positive);
  return {factor, info};
}

Tensor linalg_cholesky(KeySet, const Tensor& self, bool upper) {
  const auto [factor, info] = ops::linalg_cholesky_ex(self, upper, false);
  check_info(info, "linalg.cholesky", not_positive);
  return factor;
}

Tensor cholesky(KeySet, const Tensor& self, bool upper) {
  return ops::linalg_cholesky(self, upper);
}

Tensor cholesky_solve(KeySet, const Tensor& self, const Tensor& input2, bool upper) {
  check(self.ndim() >= 2, "b should have at least 2 dimensions, but has ", self.ndim(),
        " dimensions instead");
  check(input2.ndim() >= 2, "u should have at least 2 dimensions, but has ", input2.ndim(),
        " dimensions instead");
  check_square(input2, "cholesky_solve");
  check_lapack_dtype(self, "cholesky_solve", Lapack::kKernelOnly);
  check_same_dtype(self, input2, "cholesky_solve", "b", "A");
  const int64_t n = rows_of(input2), k = columns_of(self);
  check(rows_of(self) == n, "Incompatible matrix sizes for cholesky_solve: each A matrix is ", n,
        " by ", n, " but each b matrix is ", rows_of(self), " by ", k);
  check_lapack_size(n, n, "cholesky_solve");
  check_lapack_size(n, k, "cholesky_solve");
  const Dims batch = broadcast_shapes(batch_of(input2), batch_of(self));
  const Tensor x = column_major_copy(self, matrix_sizes(batch, n, k));
  if (x.is_meta() || x.numel() == 0) return x;
  const Tensor factor = column_major_copy(input2);
  const Dims own = batch_of(input2);
  const Dims strides = broadcast_strides(own, contiguous_strides(own), batch.size());
  const auto g = make_geometry<1>(batch, {IntSpan(strides)}, false);
  visit_lapack(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_matrices(numel_of(batch), n * n * k, [&](int64_t i) {
      const Odometer<1> at(g, g.sizes.size(), i);
      lapack::potrs(triangle(upper), static_cast<int>(n), static_cast<int>(k),
                    factor.data_as<T>() + at.offsets()[0] * n * n, static_cast<int>(n),
                    x.data_as<T>() + i * n * k, static_cast<int>(n));
    });
  });
  record_write(x);
  return x;
}

Tensor cholesky_inverse(KeySet, const Tensor& self, bool upper) {
  check_square(self, "cholesky_inverse");
  check_lapack_dtype(self, "cholesky_inverse", Lapack::kKernelOnly);
  const int64_t n = rows_of(self);
  check_lapack_size(n, n, "cholesky_inverse");
  const Tensor out = column_major_copy(self);
  if (out.is_meta() || out.numel() == 0) return out;
  const Tensor info = empty(batch_of(self), DType::kInt32);
  visit_lapack(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_matrices(info.numel(), n * n * n, [&](int64_t i) {
      T* a = out.data_as<T>() + i * n * n;
      info.data_as<int32_t>()[i] =
          lapack::potri(triangle(upper), static_cast<int>(n), a, static_cast<int>(n));
      for (int64_t column = 0; column < n; ++column) {  // mirrors the triangle
        for (int64_t row = 0; row < column; ++row) {
          T &above = a[row + column * n], &below = a[column + row * n];
          (upper ? below : above) = conjugated(upper ? above : below);
        }
      }
    });
  });
  record_write(out);
  check_info(info, "cholesky_inverse", [](int at) {
    return message("The diagonal element ", at,
                   " is zero, the inversion could not be completed because the input matrix is "
                   "singular.");
  });
  return out;
}

}  // namespace uh::kernels
