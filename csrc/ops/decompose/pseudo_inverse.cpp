// Pseudo-inverses and ranks: singular values against a tolerance.
#include "generated/kernels/decompose.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/decompose.h"
#include "generated/ops/linalg.h"
#include "generated/ops/reduce.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"
#include "ops/linalg/checks.h"
#include "ops/linalg/matrices.h"

namespace uh::kernels {
namespace {

// PyTorch's default tolerances: rtol is max(m, n) epsilon unless a positive atol is passed.
struct Tolerance {
  Tensor atol, rtol;  // broadcast to the batch
};

Tensor number(double value, const Tensor& like) {
  return ops::full({}, Scalar(value), to_real(like.dtype()), like.device());
}

double epsilon_for(const Tensor& a) {
  const double epsilon = to_real(a.dtype()) == DType::kFloat32 ? 0x1p-23 : 0x1p-52;
  return epsilon * static_cast<double>(std::max(rows_of(a), columns_of(a)));
}

Tolerance tolerance(const Tensor& a, std::optional<double> atol, std::optional<double> rtol) {
  const double relative_tolerance = rtol ? *rtol : atol && *atol > 0 ? 0 : epsilon_for(a);
  return {number(atol.value_or(0), a), number(relative_tolerance, a)};
}

Tolerance tolerance(const Tensor& a, const Tensor& atol, const Tensor& rtol, std::string_view op) {
  for (const Tensor& t : {atol, rtol})
    check(!t || !is_complex(t.dtype()), op, ": tolerances of complex type are not supported, got ",
          t ? name(t.dtype()) : "");
  if (!atol) return {number(0, a), rtol ? rtol : number(epsilon_for(a), a)};
  if (rtol) return {atol, rtol};
  return {atol, ops::where(ops::gt(atol, Scalar(0)), Scalar(0.0), number(epsilon_for(a), a))};
}

// Returns max(atol, rtol * largest), with a last dimension of size 1.
Tensor limit(const Tolerance& by, const Tensor& largest) {
  const auto column = [&](const Tensor& t) {
    const DType dtype = largest.dtype();
    return ops::unsqueeze(
        t.dtype() == dtype ? t
                           : ops::_to_copy(t, dtype, Device::kUndefined, MemoryFormat::kUndefined),
        -1);
  };
  return ops::maximum(column(by.atol), ops::mul(column(by.rtol), largest));
}

Tensor pseudo_inverse(const Tensor& a, const Tolerance& by, bool hermitian) {
  if (a.numel() == 0)
    return empty(matrix_sizes(batch_of(a), columns_of(a), rows_of(a)), a.dtype(), a.device());
  const auto inverted = [](const Tensor& values, const Tensor& sizes, const Tensor& min_value) {
    return ops::unsqueeze(
        ops::where(ops::gt(sizes, min_value), ops::reciprocal(values), Scalar(0.0)), -2);
  };
  if (hermitian) {
    const auto [values, vectors] = ops::linalg_eigh(a, "L");
    const Tensor sizes = ops::abs(values);
    const Tensor min_value = limit(by, ops::amax(sizes, Dims{-1}, true));
    return ops::matmul(ops::mul(vectors, inverted(values, sizes, min_value)),
                       ops::adjoint(vectors));
  }
  const auto [u, s, vh] = ops::linalg_svd(a, false, std::nullopt);
  const Tensor min_value = limit(by, ops::narrow(s, -1, 0, 1));
  return ops::matmul(ops::mul(ops::adjoint(vh), inverted(s, s, min_value)), ops::adjoint(u));
}

void check_pinv(const Tensor& a) {
  check_matrix(a, "linalg.pinv");
  check_lapack_dtype(a, "linalg.pinv", Lapack::kDtypes);
}

Tensor rank(const Tensor& a, const Tolerance& by, bool hermitian) {
  const Tensor s =
      hermitian ? ops::abs(ops::linalg_eigvalsh(a, "L")) : ops::linalg_svdvals(a, std::nullopt);
  if (s.sizes().back() == 0) return ops::zeros(batch_of(a), DType::kInt64, a.device());
  const Tensor min_value = limit(by, ops::amax(s, Dims{-1}, true));
  return ops::sum(ops::gt(s, min_value), Dims{-1}, false, DType::kUndefined);
}

void check_rank(const Tensor& a, bool hermitian) {
  check_matrix(a, "linalg.matrix_rank");
  check_lapack_dtype(a, "linalg.matrix_rank", Lapack::kDtypes);
  if (hermitian) check_square(a, "linalg.matrix_rank");
}

}  // namespace

Tensor pinv_numbers(KeySet, const Tensor& a, std::optional<double> atol, std::optional<double> rtol,
                    bool hermitian) {
  check_pinv(a);
  return pseudo_inverse(a, tolerance(a, atol, rtol), hermitian);
}
Tensor pinv_tensors(KeySet, const Tensor& a, const Tensor& atol, const Tensor& rtol,
                    bool hermitian) {
  check_pinv(a);
  return pseudo_inverse(a, tolerance(a, atol, rtol, "torch.linalg.pinv"), hermitian);
}
Tensor pinv_rcond(KeySet, const Tensor& a, double rcond, bool hermitian) {
  check_pinv(a);
  return pseudo_inverse(a, tolerance(a, 0.0, rcond), hermitian);
}
Tensor pinv_rcond_tensor(KeySet, const Tensor& a, const Tensor& rcond, bool hermitian) {
  check_pinv(a);
  return pseudo_inverse(a, tolerance(a, Tensor(), rcond, "torch.linalg.pinv"), hermitian);
}
Tensor pinverse(KeySet, const Tensor& a, double rcond) { return ops::linalg_pinv(a, rcond, false); }

Tensor rank_numbers(KeySet, const Tensor& a, std::optional<double> atol, std::optional<double> rtol,
                    bool hermitian) {
  check_rank(a, hermitian);
  return rank(a, tolerance(a, atol, rtol), hermitian);
}
Tensor rank_tensors(KeySet, const Tensor& a, const Tensor& atol, const Tensor& rtol,
                    bool hermitian) {
  check_rank(a, hermitian);
  return rank(a, tolerance(a, atol, rtol, "torch.linalg.matrix_rank"), hermitian);
}
Tensor rank_tol(KeySet, const Tensor& a, double tol, bool hermitian) {
  check_rank(a, hermitian);
  return rank(a, tolerance(a, tol, 0.0), hermitian);
}
Tensor rank_tol_tensor(KeySet, const Tensor& a, const Tensor& tol, bool hermitian) {
  check_rank(a, hermitian);
  return rank(a, tolerance(a, tol, number(0, a), "torch.linalg.matrix_rank"), hermitian);
}

}  // namespace uh::kernels
