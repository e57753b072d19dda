// QR factors, and products with their reflectors.
#include "backend/cpu/copy/elements.h"
#include "ops/linalg/checks.h"
#include "backend/cpu/linalg/lapack.h"
#include "backend/cpu/linalg/matrices.h"
#include "generated/kernels/decompose.h"
#include "generated/ops/decompose.h"

namespace uh::kernels {
namespace {

// Replaces column-major matrices with their packed factors.
void factor_in_place(const Tensor& a, const Tensor& tau) {
  const int64_t m = rows_of(a), n = columns_of(a), k = std::min(m, n);
  if (a.numel() == 0) return;
  visit_lapack(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_matrices(numel_of(batch_of(a)), 2 * m * n * k, [&](int64_t i) {
      lapack::geqrf(static_cast<int>(m), static_cast<int>(n), a.data_as<T>() + i * m * n,
                    static_cast<int>(m), tau.data_as<T>() + i * k);
    });
  });
}

// Replaces the reflectors in the first k columns with the matrix that they represent.
void make_q(const Tensor& q, const Tensor& tau, int64_t k) {
  const int64_t m = rows_of(q), columns = columns_of(q);
  if (q.numel() == 0) return;
  visit_lapack(q.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_matrices(numel_of(batch_of(q)), 2 * m * columns * std::max<int64_t>(k, 1), [&](int64_t i) {
      T* a = q.data_as<T>() + i * m * columns;
      if (k == 0) return set_identity(a, m, columns);
      lapack::orgqr(static_cast<int>(m), static_cast<int>(columns), static_cast<int>(k), a,
                    static_cast<int>(m), tau.data_as<T>() + i * k);
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

}  // namespace

std::tuple<Tensor, Tensor> linalg_qr(KeySet, const Tensor& a, const std::string& mode) {
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
  if (a.is_meta()) return {q, r};
  const Tensor packed = column_major_copy(a), tau = empty(with_last(batch, k), a.dtype());
  factor_in_place(packed, tau);
  copy_corner(r, packed, true);
  if (mode != "r") {
    copy_corner(q, packed, false);
    make_q(q, tau, k);
  }
  record_write(q);
  record_write(r);
  return {q, r};
}

std::tuple<Tensor, Tensor> qr(KeySet, const Tensor& self, bool some) {
  return ops::linalg_qr(self, some ? "reduced" : "complete");
}

std::tuple<Tensor, Tensor> geqrf(KeySet, const Tensor& self) {
  check_matrix(self, "torch.geqrf", "input");
  check_lapack_dtype(self, "torch.geqrf", Lapack::kKernelOnly);
  const int64_t m = rows_of(self), n = columns_of(self);
  check_lapack_size(m, n, "torch.geqrf");
  const Tensor packed = column_major_copy(self);
  const Tensor tau = empty(with_last(batch_of(self), std::min(m, n)), self.dtype(), self.device());
  if (self.is_meta()) return {packed, tau};
  factor_in_place(packed, tau);
  record_write(packed);
  record_write(tau);
  return {packed, tau};
}

Tensor linalg_householder_product(KeySet, const Tensor& input, const Tensor& tau) {
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
  const Tensor q = column_major_copy(input);
  if (q.is_meta()) return q;
  make_q(q, as_contiguous(tau), tau.sizes().back());
  record_write(q);
  return q;
}

Tensor orgqr(KeySet, const Tensor& self, const Tensor& tau) {
  return ops::linalg_householder_product(self, tau);
}

Tensor ormqr(KeySet, const Tensor& self, const Tensor& tau, const Tensor& other, bool left,
             bool transpose) {
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
  const Tensor out = column_major_copy(other);
  if (out.is_meta() || out.numel() == 0 || k == 0) return out;
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
  record_write(out);
  return out;
}

}  // namespace uh::kernels
