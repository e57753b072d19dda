// Cholesky factors, solving and inverting with them.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/linalg/lapack.h"
#include "backend/cpu/linalg/matrices.h"
#include "generated/kernels/decompose.h"
#include "ops/decompose/shapes.h"
#include "ops/geometry.h"

namespace uh::kernels {
namespace {

char triangle(bool upper) { return upper ? 'U' : 'L'; }

}  // namespace

void linalg_cholesky_ex(const Tensor& self, bool upper, bool check_errors, const Tensor& factor,
                        const Tensor& info) {
  const int64_t n = rows_of(self);
  copy_elements(factor, self);
  fill_elements(info, ElementBytes{});
  if (self.numel() > 0) {
    visit_lapack(self.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for_matrices(info.numel(), n * n * n / 3, [&](int64_t i) {
        T* a = factor.data_as<T>() + i * n * n;
        clear_triangle(a, n, n, !upper);
        info.data_as<int32_t>()[i] =
            lapack::potrf(triangle(upper), static_cast<int>(n), a, static_cast<int>(n));
      });
    });
  }
  if (check_errors) check_info(info, "linalg.cholesky_ex", not_positive);
}

void cholesky_solve(const Tensor& self, const Tensor& input2, bool upper, const Tensor& x) {
  if (x.numel() == 0) return;
  const Dims batch = batch_of(x);
  const int64_t n = rows_of(x), k = columns_of(x);
  copy_elements(x, self);
  const Tensor factor = column_major_copy(input2);
  const Dims own = batch_of(input2);
  const Dims strides = broadcast_strides(own, contiguous_strides(own), batch.size());
  const auto g = make_geometry<1>(batch, {IntSpan(strides)}, false);
  visit_lapack(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_matrices(numel_of(batch), n * n * k, [&](int64_t i) {
      const Odometer<1> at(g, g.sizes.size(), i);
      lapack::potrs(triangle(upper), static_cast<int>(n), static_cast<int>(k),
                    factor.data_as<T>() + at.offsets()[0] * n * n, static_cast<int>(n),
                    x.data_as<T>() + i * n * k, static_cast<int>(n));
    });
  });
}

void cholesky_inverse(const Tensor& self, bool upper, const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t n = rows_of(self);
  copy_elements(out, self);
  const Tensor info = empty(batch_of(self), DType::kInt32);
  visit_lapack(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_matrices(info.numel(), n * n * n, [&](int64_t i) {
      T* a = out.data_as<T>() + i * n * n;
      info.data_as<int32_t>()[i] =
          lapack::potri(triangle(upper), static_cast<int>(n), a, static_cast<int>(n));
      for (int64_t column = 0; column < n; ++column) {  // mirrors the triangle
        for (int64_t row = 0; row < column; ++row) {
          T &above = a[row + column * n], &below = a[column + row * n];
          (upper ? below : above) = conjugated(upper ? above : below);
        }
      }
    });
  });
  check_info(info, "cholesky_inverse", [](int at) {
    return message("The diagonal element ", at,
                   " is zero, the inversion could not be completed because the input matrix is "
                   "singular.");
  });
}

}  // namespace uh::kernels
