// The composites of decompose.yaml, except those of pseudo_inverse.cpp.
#include "generated/kernels/decompose.h"
#include "generated/ops/complex.h"
#include "generated/ops/creation.h"
#include "generated/ops/decompose.h"
#include "ops/decompose/shapes.h"
#include "ops/linalg/checks.h"
#include "ops/linalg/matrices.h"

namespace uh::kernels {

Tensor linalg_cholesky(KeySet, const Tensor& self, bool upper) {
  const auto [factor, info] = ops::linalg_cholesky_ex(self, upper, false);
  check_info(info, "linalg.cholesky", not_positive);
  return factor;
}

Tensor cholesky(KeySet, const Tensor& self, bool upper) {
  check_lapack_dtype_unless_empty(self, "cholesky", Lapack::kKernelOnly);
  return ops::linalg_cholesky(self, upper);
}

std::tuple<Tensor, Tensor> qr(KeySet, const Tensor& self, bool some) {
  return ops::linalg_qr(self, some ? "reduced" : "complete");
}

Tensor orgqr(KeySet, const Tensor& self, const Tensor& tau) {
  return ops::linalg_householder_product(self, tau);
}

std::tuple<Tensor, Tensor> linalg_ldl_factor(KeySet, const Tensor& self, bool hermitian) {
  const auto [packed, pivots, info_codes] = ops::linalg_ldl_factor_ex(self, hermitian, false);
  check_info(info_codes, "torch.linalg.ldl_factor", zero_pivot);
  return {packed, pivots};
}

std::tuple<Tensor, Tensor> linalg_eigh(KeySet, const Tensor& self, const std::string& uplo) {
  return ops::_linalg_eigh(self, uplo, true);
}

Tensor linalg_eigvalsh(KeySet, const Tensor& self, const std::string& uplo) {
  return std::get<0>(ops::_linalg_eigh(self, uplo, may_need_gradient(self)));
}

// When gradients are required, which need the eigenvectors.
Tensor eigvals_calls(KeySet, const Tensor& self) { return std::get<0>(ops::linalg_eig(self)); }

std::tuple<Tensor, Tensor, Tensor> linalg_svd(KeySet, const Tensor& a, bool full_matrices,
                                              const std::optional<std::string>& driver) {
  return ops::_linalg_svd(a, full_matrices, true, driver);
}

Tensor linalg_svdvals(KeySet, const Tensor& a, const std::optional<std::string>& driver) {
  return std::get<1>(ops::_linalg_svd(a, false, may_need_gradient(a), driver));
}

std::tuple<Tensor, Tensor, Tensor> svd(KeySet, const Tensor& self, bool some, bool compute_uv) {
  check(self.ndim() >= 2, "linalg.svd: input should have at least 2 dimensions, but has ",
        self.ndim(), " dimensions instead");
  if (compute_uv) {
    const auto [u, s, vh] = ops::_linalg_svd(self, !some, true, std::nullopt);
    return {u, s, ops::adjoint(vh)};
  }
  const Tensor s = ops::linalg_svdvals(self, std::nullopt);
  const Dims batch = batch_of(self);
  const auto square = [&](int64_t n) {
    return ops::zeros(matrix_sizes(batch, n, n), self.dtype(), self.device());
  };
  return {square(rows_of(self)), s, ops::adjoint(square(columns_of(self)))};
}

}  // namespace uh::kernels
