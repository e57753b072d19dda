// Singular values, pseudo-inverses and ranks.
#include "ops/linalg/checks.h"
#include "backend/cpu/linalg/lapack.h"
#include "backend/cpu/linalg/matrices.h"
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

namespace uh::kernels {
namespace {

constexpr int kNotFinite = -4;  // gesdd's info for NaN; on infinities it would not terminate

std::string no_singular_values(int info) {
  if (info < 0)
    return "The algorithm failed to converge because the input matrix contained non-finite values.";
  return message(
      "The algorithm failed to converge because the input matrix is ill-conditioned or has too "
      "many repeated singular values (error code: ",
      info, ").");
}

// Without singular values, a full U or Vh may be any orthonormal matrix: the identity.
void fill_identities(const Tensor& t) {
  const int64_t rows = rows_of(t), columns = columns_of(t), members = numel_of(batch_of(t));
  visit_any(t.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < members; ++i)
      set_identity(t.data_as<T>() + i * rows * columns, rows, columns);
  });
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> svd_of(KeySet, const Tensor& a, bool full_matrices,
                                          bool compute_uv,
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
  if (a.is_meta()) return {u, s, vh};
  if (a.numel() == 0) {
    if (compute_uv) {
      fill_identities(u);
      fill_identities(vh);
    }
    return {u, s, vh};
  }
  const Tensor copy = column_major_copy(a), info = empty(batch, DType::kInt32);
  visit_lapack(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_matrices(info.numel(), 20 * m * n * k, [&](int64_t i) {
      T unused;
      T* to_u = compute_uv ? u.data_as<T>() + i * m * left : &unused;
      T* to_vh = compute_uv ? vh.data_as<T>() + i * right * n : &unused;
      info.data_as<int32_t>()[i] =
          !all_finite(copy.data_as<T>() + i * m * n, m * n)
              ? kNotFinite
              : lapack::gesdd(!compute_uv     ? 'N'
                              : full_matrices ? 'A'
                                              : 'S',
                              static_cast<int>(m), static_cast<int>(n),
                              copy.data_as<T>() + i * m * n, static_cast<int>(m),
                              s.data_as<real_t<T>>() + i * k, to_u, static_cast<int>(m), to_vh,
                              static_cast<int>(right));
    });
  });
  for (const Tensor& t : {u, s, vh}) record_write(t);
  check_info(info, "linalg.svd", no_singular_values);
  return {u, s, vh};
}

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
