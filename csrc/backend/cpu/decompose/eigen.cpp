// Eigenvalues and eigenvectors.
#include <cmath>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/linalg/lapack.h"
#include "backend/cpu/linalg/matrices.h"
#include "generated/kernels/decompose.h"

namespace uh::kernels {
namespace {

std::string no_convergence(int info) {
  return message(
      "The algorithm failed to converge because the input matrix is ill-conditioned or has too "
      "many repeated eigenvalues (error code: ",
      info, ").");
}

// The eigenvalues, and unless `vectors` is null the eigenvectors, of one matrix. For a real matrix
// LAPACK returns a pair of complex vectors as two columns: their real and their imaginary part.
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

// If `vectors` is undefined, computes only the eigenvalues.
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

// The eigenvalues, and unless `vectors` is undefined the eigenvectors, of small real matrices given
// by their lower triangles, by LAPACK only from the tridiagonal matrix on. Returns false, without
// results, if it cannot.
bool small_eigh(const Tensor& a, const Tensor& values, const Tensor& vectors, const Tensor& info) {
  const int64_t n = rows_of(a);
  return visit_small(a.dtype(), n, n, [&](auto zero) {
    using T = decltype(zero);
    const Tensor rows = as_contiguous(a);
    return for_small_matrices(info.numel(), 9 * n * n * n, [&](int64_t i) {
      T off_diagonal[kMaxSmallMatrix], work[4 * kMaxSmallMatrix];
      T* const to = values.data_as<T>() + i * n;
      T* const q = vectors ? vectors.data_as<T>() + i * n * n : nullptr;
      const T* const from = rows.data_as<T>() + i * n * n;
      if (!small_matrix_loops().of<T>().tridiagonal(from, n, to, off_diagonal, q)) return false;
      info.data_as<int32_t>()[i] = q ? lapack::steqr(static_cast<int>(n), to, off_diagonal, q, work)
                                     : lapack::sterf(static_cast<int>(n), to, off_diagonal);
      return true;
    });
  });
}

}  // namespace

void eigh_of(const Tensor& a, const std::string& uplo, bool compute_v, const Tensor& values,
             const Tensor& shown_vectors) {
  if (a.numel() == 0) return;
  const int64_t n = rows_of(a);
  const Tensor info = empty(batch_of(a), DType::kInt32);
  const bool upper = uplo == "U" || uplo == "u";
  if (!upper && small_eigh(a, values, compute_v ? shown_vectors : Tensor(), info))
    return check_info(info, "linalg.eigh", no_convergence);
  const Tensor vectors =
      compute_v ? shown_vectors : empty_column_major(a.sizes(), a.dtype(), a.device());
  copy_elements(vectors, a);
  visit_lapack(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_matrices(info.numel(), 9 * n * n * n, [&](int64_t i) {
      T* matrix = vectors.data_as<T>() + i * n * n;
      info.data_as<int32_t>()[i] =
          lapack::syevd(compute_v ? 'V' : 'N', upper ? 'U' : 'L', static_cast<int>(n), matrix,
                        static_cast<int>(n), values.data_as<real_t<T>>() + i * n);
    });
  });
  check_info(info, "linalg.eigh", no_convergence);
}

void linalg_eig(const Tensor& self, const Tensor& values, const Tensor& vectors) {
  eigen_into(self, values, vectors);
}

void linalg_eigvals(const Tensor& self, const Tensor& values) {
  eigen_into(self, values, Tensor());
}

}  // namespace uh::kernels
