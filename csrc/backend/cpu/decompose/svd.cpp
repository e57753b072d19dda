// Singular values.
#include "backend/cpu/linalg/lapack.h"
#include "backend/cpu/linalg/matrices.h"
#include "generated/kernels/decompose.h"

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

void svd_of(const Tensor& a, bool full_matrices, bool compute_uv, const std::optional<std::string>&,
            const Tensor& u, const Tensor& s, const Tensor& vh) {
  const int64_t m = rows_of(a), n = columns_of(a), k = std::min(m, n);
  const int64_t left = full_matrices ? m : k, right = full_matrices ? n : k;
  if (a.numel() == 0) {
    if (compute_uv) {
      fill_identities(u);
      fill_identities(vh);
    }
    return;
  }
  const Tensor copy = column_major_copy(a), info = empty(batch_of(a), DType::kInt32);
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
  check_info(info, "linalg.svd", no_singular_values);
}

}  // namespace uh::kernels
