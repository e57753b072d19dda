// Eigenvalues and eigenvectors.
#include <cmath>

#include "ops/linalg/checks.h"
#include "backend/cpu/linalg/lapack.h"
#include "backend/cpu/linalg/matrices.h"
#include "generated/kernels/decompose.h"
#include "generated/ops/decompose.h"

namespace uh::kernels {
namespace {

std::string no_convergence(int info) {
  return message(
      "The algorithm failed to converge because the input matrix is ill-conditioned or has too "
      "many repeated eigenvalues (error code: ",
      info, ").");
}

// Converts LAPACK's column pairs of one real matrix to complex vectors.
template <class R>
int eigen(int n, R* a, Complex<R>* values, Complex<R>* vectors) {
  const auto size = static_cast<size_t>(n);
  std::vector<R> re(size), im(size), packed(vectors ? size * size : 1);
  const int result =
      lapack::geev(vectors ? 'V' : 'N', n, a, n, re.data(), im.data(), packed.data(), n);
  for (size_t i = 0; i < size; ++i) values[i] = {re[i], im[i]};
  if (!vectors) return result;
  for (size_t j = 0; j < size; ++j) {
    const bool pair = im[j] != 0 && j + 1 < size;
    for (size_t i = 0; i < size; ++i) {
      const R real = packed[i + j * size], imag = pair ? packed[i + (j + 1) * size] : R(0);
      vectors[i + j * size] = {real, imag};
      if (pair) vectors[i + (j + 1) * size] = {real, -imag};
    }
    if (pair) ++j;
  }
  return result;
}
template <class R>
int eigen(int n, Complex<R>* a, Complex<R>* values, Complex<R>* vectors) {
  Complex<R> unused;
  return lapack::geev(vectors ? 'V' : 'N', n, a, n, values, vectors ? vectors : &unused, n);
}

// `vectors` may be empty to compute only values.
void eigen_into(const Tensor& self, const Tensor& values, const Tensor& vectors) {
  const int64_t n = rows_of(self);
  if (self.numel() == 0) return;
  const Tensor a = column_major_copy(self), info = empty(batch_of(self), DType::kInt32);
  visit_lapack(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    using C = Complex<real_t<T>>;
    check(all_finite(a.data_as<T>(), a.numel()),
          "torch.linalg.eig: input tensor should not contain infs or NaNs.");
    for_matrices(info.numel(), 20 * n * n * n, [&](int64_t i) {
      C* to = vectors ? vectors.data_as<C>() + i * n * n : nullptr;
      info.data_as<int32_t>()[i] =
          eigen(static_cast<int>(n), a.data_as<T>() + i * n * n, values.data_as<C>() + i * n, to);
    });
  });
  check_info(info, "torch.linalg.eig", no_convergence);
}

}  // namespace

std::tuple<Tensor, Tensor> eigh_of(KeySet, const Tensor& a, const std::string& uplo,
                                   bool compute_v) {
  check_square(a, "linalg.eigh");
  check_lapack_dtype_unless_empty(a, "linalg.eigh", Lapack::kKernelOnly);
  check(uplo == "L" || uplo == "l" || uplo == "U" || uplo == "u",
        "Expected UPLO argument to be 'L' or 'U', but got ", uplo);
  const Dims batch = batch_of(a);
  const int64_t n = rows_of(a);
  check_lapack_size(2 * n, n, "linalg.eigh");
  const Tensor values = empty(with_last(batch, n), to_real(a.dtype()), a.device());
  const Tensor vectors = column_major_copy(a);
  const Tensor shown_vectors = compute_v ? vectors : empty(Dims{0}, a.dtype(), a.device());
  if (a.is_meta() || a.numel() == 0) return {values, shown_vectors};
  const Tensor info = empty(batch, DType::kInt32);
  visit_lapack(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_matrices(info.numel(), 9 * n * n * n, [&](int64_t i) {
      T* matrix = vectors.data_as<T>() + i * n * n;
      info.data_as<int32_t>()[i] = lapack::syevd(
          compute_v ? 'V' : 'N', uplo == "U" || uplo == "u" ? 'U' : 'L', static_cast<int>(n),
          matrix, static_cast<int>(n), values.data_as<real_t<T>>() + i * n);
    });
  });
  record_write(values);
  record_write(shown_vectors);
  check_info(info, "linalg.eigh", no_convergence);
  return {values, shown_vectors};
}

std::tuple<Tensor, Tensor> linalg_eigh(KeySet, const Tensor& self, const std::string& uplo) {
  return ops::_linalg_eigh(self, uplo, true);
}

Tensor linalg_eigvalsh(KeySet, const Tensor& self, const std::string& uplo) {
  return std::get<0>(ops::_linalg_eigh(self, uplo, may_need_gradient(self)));
}

std::tuple<Tensor, Tensor> linalg_eig(KeySet, const Tensor& self) {
  check_square(self, "linalg.eig");
  check_lapack_dtype(self, "linalg.eig");
  const int64_t n = rows_of(self);
  check_lapack_size(n, n, "linalg.eig");
  const DType dtype = to_complex(self.dtype());
  const Tensor values = empty(with_last(batch_of(self), n), dtype, self.device());
  const Tensor vectors = empty_column_major(self.sizes(), dtype, self.device());
  if (self.is_meta()) return {values, vectors};
  eigen_into(self, values, vectors);
  record_write(values);
  record_write(vectors);
  return {values, vectors};
}

Tensor linalg_eigvals(KeySet, const Tensor& self) {
  check_square(self, "linalg.eigvals");
  check_lapack_dtype(self, "linalg.eigvals");
  const int64_t n = rows_of(self);
  check_lapack_size(n, n, "linalg.eigvals");
  const Tensor values =
      empty(with_last(batch_of(self), n), to_complex(self.dtype()), self.device());
  if (self.is_meta()) return values;
  eigen_into(self, values, Tensor());
  record_write(values);
  return values;
}

// When gradients are required, which need the eigenvectors.
Tensor eigvals_calls(KeySet, const Tensor& self) { return std::get<0>(ops::linalg_eig(self)); }

}  // namespace uh::kernels
