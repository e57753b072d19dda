#include "ops/decompose/shapes.h"

#include <algorithm>

#include "ops/linalg/checks.h"
#include "ops/linalg/matrices.h"

namespace uh {

std::string not_positive(int info) {
  return message(
      "The factorization could not be completed because the input is not positive-definite (the "
      "leading minor of order ",
      info, " is not positive-definite).");
}

std::string zero_pivot(int info) {
  return message("D[", info, ",", info,
                 "] is zero and using it on linalg.ldl_solve would result in a division by zero.");
}

}  // namespace uh

namespace uh::shapes {

std::tuple<Tensor, Tensor> cholesky(const Tensor& self) {
  check_square(self, "linalg.cholesky");
  check_lapack_dtype_unless_empty(self, "linalg.cholesky");
  const int64_t n = rows_of(self);
  check_lapack_size(n, n, "linalg.cholesky");
  return {empty_column_major(self.sizes(), self.dtype(), self.device()),
          empty(batch_of(self), DType::kInt32, self.device())};
}

Tensor cholesky_solve(const Tensor& self, const Tensor& factor) {
  check(self.ndim() >= 2, "b should have at least 2 dimensions, but has ", self.ndim(),
        " dimensions instead");
  check(factor.ndim() >= 2, "u should have at least 2 dimensions, but has ", factor.ndim(),
        " dimensions instead");
  check_square(factor, "cholesky_solve");
  check_lapack_dtype(self, "cholesky_solve", Lapack::kKernelOnly);
  check_same_dtype(self, factor, "cholesky_solve", "b", "A");
  const int64_t n = rows_of(factor), k = columns_of(self);
  check(rows_of(self) == n, "Incompatible matrix sizes for cholesky_solve: each A matrix is ", n,
        " by ", n, " but each b matrix is ", rows_of(self), " by ", k);
  check_lapack_size(n, n, "cholesky_solve");
  check_lapack_size(n, k, "cholesky_solve");
  const Dims batch = broadcast_shapes(batch_of(factor), batch_of(self));
  return empty_column_major(matrix_sizes(batch, n, k), self.dtype(), self.device());
}

Tensor cholesky_inverse(const Tensor& self) {
  check_square(self, "cholesky_inverse");
  check_lapack_dtype(self, "cholesky_inverse", Lapack::kKernelOnly);
  const int64_t n = rows_of(self);
  check_lapack_size(n, n, "cholesky_inverse");
  return empty_column_major(self.sizes(), self.dtype(), self.device());
}

std::tuple<Tensor, Tensor> qr(const Tensor& a, const std::string& mode) {
  check_matrix(a, "linalg.qr");
  check_lapack_dtype(a, "linalg.qr");
  check(mode == "reduced" || mode == "complete" || mode == "r", "qr received unrecognized mode '",
        mode, "' but expected one of 'reduced' (default), 'r', or 'complete'");
  const Dims batch = batch_of(a);
  const int64_t m = rows_of(a), n = columns_of(a), k = std::min(m, n);
  check_lapack_size(m, std::max(m, n), "linalg.qr");
  const int64_t inner = mode == "complete" ? m : k;
  const Tensor q = mode == "r"
                       ? empty(Dims{0}, a.dtype(), a.device())
                       : empty_column_major(matrix_sizes(batch, m, inner), a.dtype(), a.device());
  const Tensor r = empty_column_major(matrix_sizes(batch, inner, n), a.dtype(), a.device());
  return {q, r};
}

std::tuple<Tensor, Tensor> geqrf(const Tensor& self) {
  check_matrix(self, "torch.geqrf", "input");
  check_lapack_dtype(self, "torch.geqrf", Lapack::kKernelOnly);
  const int64_t m = rows_of(self), n = columns_of(self);
  check_lapack_size(m, n, "torch.geqrf");
  return {empty_column_major(self.sizes(), self.dtype(), self.device()),
          empty(with_last(batch_of(self), std::min(m, n)), self.dtype(), self.device())};
}

Tensor householder_product(const Tensor& input, const Tensor& tau) {
  constexpr std::string_view kOp = "torch.linalg.householder_product";
  check(input.ndim() >= 2, kOp, ": input must have at least 2 dimensions.");
  const int64_t m = rows_of(input), n = columns_of(input);
  check(m >= n, kOp, ": input.shape[-2] must be greater than or equal to input.shape[-1], got ",
        input.sizes());
  check(tau.ndim() == input.ndim() - 1, kOp,
        ": Expected tau to have one dimension less than input, but got tau.ndim equal to ",
        tau.ndim(), " and input.ndim is equal to ", input.ndim());
  check(tau.sizes().back() <= n, kOp,
        ": input.shape[-1] must be greater than or equal to tau.shape[-1], got ", input.sizes(),
        " and ", tau.sizes());
  check(batch_of(tau, 1) == batch_of(input), kOp,
        ": Expected batch dimensions of tau to be equal to input.shape[:-2], but got ",
        tau.sizes());
  check(input.dtype() == tau.dtype(), kOp, ": tau dtype ", info(tau.dtype()).title,
        " does not match input dtype ", info(input.dtype()).title);
  check_lapack_dtype(input, kOp, Lapack::kKernelOnly);
  check_lapack_size(m, n, kOp);
  return empty_column_major(input.sizes(), input.dtype(), input.device());
}

Tensor ormqr(const Tensor& self, const Tensor& tau, const Tensor& other, bool left) {
  constexpr std::string_view kOp = "torch.ormqr";
  check(self.ndim() >= 2, kOp, ": input must have at least 2 dimensions.");
  check(other.ndim() >= 2, kOp, ": other must have at least 2 dimensions.");
  const int64_t rows = rows_of(other), columns = columns_of(other), m = left ? rows : columns;
  const int64_t k = tau.ndim() ? tau.sizes().back() : 0;
  check(m >= k, kOp, ": other.shape[", left ? -2 : -1,
        "] must be greater than or equal to tau.shape[-1], got ", other.sizes(), " and ",
        tau.sizes());
  check(m == rows_of(self), kOp, ": other.shape[", left ? -2 : -1,
        "] must be equal to input.shape[-2], got ", other.sizes(), " and ", self.sizes());
  check(k <= columns_of(self), kOp,
        ": tau.shape[-1] must be less than or equal to input.shape[-1], got ", tau.sizes(), " and ",
        self.sizes());
  check(self.ndim() - tau.ndim() == 1, kOp,
        ": Expected tau to have one dimension less than input, but got tau.ndim equal to ",
        tau.ndim(), " and input.ndim is equal to ", self.ndim());
  check(self.ndim() == other.ndim(), kOp,
        ": Expected other to have the same number of dimensions as input, but got other.ndim equal "
        "to ",
        other.ndim(), " and input.ndim is equal to ", self.ndim());
  check(batch_of(tau, 1) == batch_of(self), kOp,
        ": Expected batch dimensions of tau to be equal to input.shape[:-2], but got ",
        tau.sizes());
  check(batch_of(other) == batch_of(self), kOp,
        ": Expected batch dimensions of other to be equal to input.shape[:-2], but got ",
        other.sizes());
  check(tau.dtype() == self.dtype() && other.dtype() == self.dtype(), kOp,
        ": Expected input, tau and other to have the same dtype, but got ",
        info(self.dtype()).title, ", ", info(tau.dtype()).title, " and ",
        info(other.dtype()).title);
  check_lapack_dtype(self, kOp, Lapack::kKernelOnly);
  check_lapack_size(rows, columns, kOp);
  return empty_column_major(other.sizes(), other.dtype(), other.device());
}

std::tuple<Tensor, Tensor> eigh(const Tensor& a, const std::string& uplo, bool compute_v) {
  check_square(a, "linalg.eigh");
  check_lapack_dtype_unless_empty(a, "linalg.eigh", Lapack::kKernelOnly);
  check(uplo == "L" || uplo == "l" || uplo == "U" || uplo == "u",
        "Expected UPLO argument to be 'L' or 'U', but got ", uplo);
  const int64_t n = rows_of(a);
  check_lapack_size(2 * n, n, "linalg.eigh");
  return {empty(with_last(batch_of(a), n), to_real(a.dtype()), a.device()),
          compute_v ? empty_column_major(a.sizes(), a.dtype(), a.device())
                    : empty(Dims{0}, a.dtype(), a.device())};
}

std::tuple<Tensor, Tensor> eig(const Tensor& self) {
  check_square(self, "linalg.eig");
  check_lapack_dtype(self, "linalg.eig");
  const int64_t n = rows_of(self);
  check_lapack_size(n, n, "linalg.eig");
  const DType dtype = to_complex(self.dtype());
  const Tensor values = empty(with_last(batch_of(self), n), dtype, self.device());
  return {values, empty_column_major(self.sizes(), dtype, self.device())};
}

Tensor eigvals(const Tensor& self) {
  check_square(self, "linalg.eigvals");
  check_lapack_dtype(self, "linalg.eigvals");
  const int64_t n = rows_of(self);
  check_lapack_size(n, n, "linalg.eigvals");
  return empty(with_last(batch_of(self), n), to_complex(self.dtype()), self.device());
}

std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& a, bool full_matrices, bool compute_uv,
                                       const std::optional<std::string>& driver) {
  check_matrix(a, "linalg.svd");
  check_lapack_dtype_unless_empty(a, "linalg.svd");
  check(!driver,
        "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
        "cuSOLVER backend.");
  const Dims batch = batch_of(a);
  const int64_t m = rows_of(a), n = columns_of(a), k = std::min(m, n);
  check_lapack_size(std::max(m, n), full_matrices ? std::max(m, n) : k, "linalg.svd");
  check_lapack_size(7 * k, k, "linalg.svd");  // gesdd's work space
  const int64_t left = full_matrices ? m : k, right = full_matrices ? n : k;
  const auto vectors = [&](int64_t rows, int64_t columns) {
    return compute_uv
               ? empty_column_major(matrix_sizes(batch, rows, columns), a.dtype(), a.device())
               : empty(Dims{0}, a.dtype(), a.device());
  };
  const Tensor u = vectors(m, left), vh = vectors(right, n);
  const Tensor s = empty(with_last(batch, k), to_real(a.dtype()), a.device());
  return {u, s, vh};
}

std::tuple<Tensor, Tensor, Tensor> ldl_factor(const Tensor& self) {
  check_square(self, "torch.linalg.ldl_factor_ex");
  check_lapack_dtype_unless_empty(self, "torch.linalg.ldl_factor_ex");
  const Dims batch = batch_of(self);
  const int64_t n = rows_of(self);
  check_lapack_size(64 * n, n, "torch.linalg.ldl_factor_ex");
  return {empty_column_major(self.sizes(), self.dtype(), self.device()),
          empty(with_last(batch, n), DType::kInt32, self.device()),
          empty(batch, DType::kInt32, self.device())};
}

Tensor ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b) {
  constexpr std::string_view kOp = "torch.linalg.ldl_solve";
  check_square(ld, kOp, "LD");
  check_lapack_dtype_unless_empty(ld, kOp);
  check_same_dtype(ld, b, kOp, "LD", "B");
  check(b.ndim() >= 2, kOp, ": Expected B to have at least 2 dimensions, but it has ", b.ndim(),
        " dimensions instead");
  const int64_t n = rows_of(ld), k = columns_of(b);
  check(rows_of(b) == n, kOp, ": Expected LD.size(-1) to be the same as B.size(-2), got ", n,
        " and ", rows_of(b));
  check(pivots.sizes() == batch_of(ld, 1), kOp,
        ": Expected LD.shape[:-1] and pivots.shape to be the same, but got ", ld.sizes(), " and ",
        pivots.sizes());
  check(is_integral(pivots.dtype()), kOp, ": Expected pivots to be integers. Got ",
        info(pivots.dtype()).title);
  check(pivots.dtype() == DType::kInt32, kOp, ": Expected pivots to be int32. Got ",
        info(pivots.dtype()).title);
  check_lapack_size(n, n, kOp);
  check_lapack_size(n, k, kOp);
  const Dims batch = broadcast_shapes(batch_of(ld), batch_of(b));
  return empty_column_major(matrix_sizes(batch, n, k), b.dtype(), b.device());
}

}  // namespace uh::shapes
