// QR factors, and products with their reflectors.
#include <memory>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/linalg/lapack.h"
#include "backend/cpu/linalg/matrices.h"
#include "generated/kernels/decompose.h"

namespace uh::kernels {
namespace {

// Returns the workspace size that a LAPACK query stored in its first element.
template <class T>
int size_of_work(T first) {
  if constexpr (is_complex_v<T>)
    return std::max(1, static_cast<int>(first.re));
  else
    return std::max(1, static_cast<int>(first));
}

// Replaces column-major matrices with their packed factors.
void factor_in_place(const Tensor& a, const Tensor& tau) {
  const int64_t m = rows_of(a), n = columns_of(a), k = std::min(m, n);
  if (a.numel() == 0) return;
  visit_lapack(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const int rows = static_cast<int>(m), columns = static_cast<int>(n);
    T best;
    lapack::geqrf(rows, columns, a.data_as<T>(), rows, tau.data_as<T>(), &best, -1);
    for_matrices(numel_of(batch_of(a)), 2 * m * n * k, [&](int64_t i) {
      const auto work =
          std::make_unique_for_overwrite<T[]>(static_cast<size_t>(size_of_work(best)));
      lapack::geqrf(rows, columns, a.data_as<T>() + i * m * n, rows, tau.data_as<T>() + i * k,
                    work.get(), size_of_work(best));
    });
  });
}

// Replaces the reflectors in the first k columns with the matrix that they represent.
void make_q(const Tensor& q, const Tensor& tau, int64_t k) {
  const int64_t m = rows_of(q), columns = columns_of(q);
  if (q.numel() == 0) return;
  visit_lapack(q.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const int rows = static_cast<int>(m), wide = static_cast<int>(columns);
    T best = 1;
    if (k)
      lapack::orgqr(rows, wide, static_cast<int>(k), q.data_as<T>(), rows, tau.data_as<T>(), &best,
                    -1);
    for_matrices(numel_of(batch_of(q)), 2 * m * columns * std::max<int64_t>(k, 1), [&](int64_t i) {
      T* a = q.data_as<T>() + i * m * columns;
      if (k == 0) return set_identity(a, m, columns);
      const auto work =
          std::make_unique_for_overwrite<T[]>(static_cast<size_t>(size_of_work(best)));
      lapack::orgqr(rows, wide, static_cast<int>(k), a, rows, tau.data_as<T>() + i * k, work.get(),
                    size_of_work(best));
    });
  });
}

// Copies the first `rows` x `columns` of each column-major matrix of `from`, which may be smaller.
void copy_corner(const Tensor& to, const Tensor& from, bool upper_only) {
  const int64_t rows = rows_of(to), columns = columns_of(to), m = rows_of(from),
                n = columns_of(from), members = numel_of(batch_of(to));
  visit_lapack(to.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < members; ++i) {
      T* out = to.data_as<T>() + i * rows * columns;
      const T* in = from.data_as<T>() + i * m * n;
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t r = 0; r < rows; ++r)
          out[r + c * rows] = r < m && c < n && (!upper_only || r <= c) ? in[r + c * m] : T(0);
    }
  });
}

// Factors small real matrices without LAPACK. Returns false, without results, if it cannot.
bool factor_small(const Tensor& a, const Tensor& q, const Tensor& r, bool with_q) {
  const int64_t m = rows_of(a), n = columns_of(a), k = rows_of(r);
  return visit_small(a.dtype(), m, n, [&](auto zero) {
    using T = decltype(zero);
    const Tensor rows = as_contiguous(a);
    return for_small_matrices(numel_of(batch_of(a)), 2 * m * n * std::min(m, n), [&](int64_t i) {
      return small_matrix_loops().of<T>().qr(rows.data_as<T>() + i * m * n, m, n, k,
                                             with_q ? q.data_as<T>() + i * m * k : nullptr,
                                             r.data_as<T>() + i * k * n);
    });
  });
}

}  // namespace

void linalg_qr(const Tensor& a, const std::string& mode, const Tensor& q, const Tensor& r) {
  if (factor_small(a, q, r, mode != "r")) return;
  const int64_t k = std::min(rows_of(a), columns_of(a));
  const Tensor packed = column_major_copy(a), tau = empty(with_last(batch_of(a), k), a.dtype());
  factor_in_place(packed, tau);
  copy_corner(r, packed, true);
  if (mode != "r") {
    copy_corner(q, packed, false);
    make_q(q, tau, k);
  }
}

void geqrf(const Tensor& self, const Tensor& packed, const Tensor& tau) {
  copy_elements(packed, self);
  factor_in_place(packed, tau);
}

void linalg_householder_product(const Tensor& input, const Tensor& tau, const Tensor& q) {
  copy_elements(q, input);
  make_q(q, as_contiguous(tau), tau.sizes().back());
}

void ormqr(const Tensor& self, const Tensor& tau, const Tensor& other, bool left, bool transpose,
           const Tensor& out) {
  const int64_t rows = rows_of(other), columns = columns_of(other), m = left ? rows : columns;
  const int64_t k = tau.ndim() ? tau.sizes().back() : 0;
  copy_elements(out, other);
  if (out.numel() == 0 || k == 0) return;
  const Tensor packed = column_major_copy(self), factors = as_contiguous(tau);
  const int64_t step = m * columns_of(self);
  const char trans = !transpose ? 'N' : is_complex(self.dtype()) ? 'C' : 'T';
  visit_lapack(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_matrices(numel_of(batch_of(out)), 2 * rows * columns * k, [&](int64_t i) {
      lapack::ormqr(left ? 'L' : 'R', trans, static_cast<int>(rows), static_cast<int>(columns),
                    static_cast<int>(k), packed.data_as<T>() + i * step, static_cast<int>(m),
                    factors.data_as<T>() + i * k, out.data_as<T>() + i * rows * columns,
                    static_cast<int>(rows));
    });
  });
}

}  // namespace uh::kernels
