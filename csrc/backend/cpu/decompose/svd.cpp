// Singular values.
#include <memory>

#include "backend/cpu/copy/elements.h"
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

// gesdd of a real matrix with a work space of `count` numbers.
template <class T>
int decompose(char job, int m, int n, T* a, T* s, T* u, T* vh, int rows_of_vh, int count) {
  const auto work = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(count));
  const auto order = std::make_unique_for_overwrite<int[]>(8 * static_cast<size_t>(std::min(m, n)));
  return lapack::gesdd(job, m, n, a, m, s, u, m, vh, rows_of_vh, work.get(), count, order.get());
}

// The singular values of small real matrices, by LAPACK only from the bidiagonal matrix on. Returns
// false, without results, if it cannot.
bool small_values(const Tensor& a, const Tensor& s, const Tensor& info) {
  const int64_t m = rows_of(a), n = columns_of(a), k = std::min(m, n);
  return visit_small(a.dtype(), m, n, [&](auto zero) {
    using T = decltype(zero);
    const Tensor rows = as_contiguous(a);
    return for_small_matrices(info.numel(), 4 * m * n * k, [&](int64_t i) {
      T off_diagonal[kMaxSmallMatrix], work[4 * kMaxSmallMatrix];
      T* const values = s.data_as<T>() + i * k;
      const T* const from = rows.data_as<T>() + i * m * n;
      if (!small_matrix_loops().of<T>().bidiagonal(from, m, n, values, off_diagonal)) return false;
      info.data_as<int32_t>()[i] = lapack::bdsqr(static_cast<int>(k), values, off_diagonal, work);
      return true;
    });
  });
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
  const Tensor info = empty(batch_of(a), DType::kInt32);
  if (!compute_uv && small_values(a, s, info))
    return check_info(info, "linalg.svd", no_singular_values);
  const Tensor copy = column_major_copy(a);
  visit_lapack(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const char job = !compute_uv ? 'N' : full_matrices ? 'A' : 'S';
    const int rows = static_cast<int>(m), columns = static_cast<int>(n),
              rows_of_vh = static_cast<int>(right);
    T unused, best = 1;
    int order;
    if constexpr (!is_complex_v<T>)
      lapack::gesdd(job, rows, columns, &unused, rows, &unused, &unused, rows, &unused, rows_of_vh,
                    &best, -1, &order);
    for_matrices(info.numel(), 20 * m * n * k, [&](int64_t i) {
      T nothing;
      T* const a_i = copy.data_as<T>() + i * m * n;
      T* const to_u = compute_uv ? u.data_as<T>() + i * m * left : &nothing;
      T* const to_vh = compute_uv ? vh.data_as<T>() + i * right * n : &nothing;
      auto* const to_s = s.data_as<real_t<T>>() + i * k;
      int& status = info.data_as<int32_t>()[i];
      if (!all_finite(a_i, m * n)) {
        status = kNotFinite;
      } else if constexpr (is_complex_v<T>) {
        status = lapack::gesdd(job, rows, columns, a_i, rows, to_s, to_u, rows, to_vh, rows_of_vh);
      } else {
        status = decompose(job, rows, columns, a_i, to_s, to_u, to_vh, rows_of_vh,
                           std::max(1, static_cast<int>(best)));
      }
    });
  });
  check_info(info, "linalg.svd", no_singular_values);
}

}  // namespace uh::kernels
