// LDL factors of symmetric and Hermitian matrices.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/linalg/lapack.h"
#include "backend/cpu/linalg/matrices.h"
#include "generated/kernels/decompose.h"
#include "ops/decompose/shapes.h"
#include "ops/geometry.h"

namespace uh::kernels {

void linalg_ldl_factor_ex(const Tensor& self, bool hermitian, bool check_errors,
                          const Tensor& packed, const Tensor& pivots, const Tensor& result) {
  const int64_t n = rows_of(self);
  copy_elements(packed, self);
  fill_elements(result, ElementBytes{});
  if (self.numel() > 0) {
    visit_lapack(self.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for_matrices(result.numel(), n * n * n / 3, [&](int64_t i) {
        T* a = packed.data_as<T>() + i * n * n;
        int32_t* exchanges = pivots.data_as<int32_t>() + i * n;
        clear_triangle(a, n, n, true);
        const int size = static_cast<int>(n);
        result.data_as<int32_t>()[i] = hermitian ? lapack::hetrf('L', size, a, size, exchanges)
                                                 : lapack::sytrf('L', size, a, size, exchanges);
      });
    });
  }
  if (check_errors) check_info(result, "torch.linalg.ldl_factor_ex", zero_pivot);
}

void linalg_ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian,
                      const Tensor& x) {
  if (x.numel() == 0) return;
  constexpr std::string_view kOp = "torch.linalg.ldl_solve";
  const Dims batch = batch_of(x), own = batch_of(ld);
  const int64_t n = rows_of(x), k = columns_of(x);
  copy_elements(x, b);
  const Tensor packed = column_major_copy(ld), exchanges = as_contiguous(pivots);
  for (int64_t i = 0; i < exchanges.numel(); ++i) {
    const int64_t row = std::abs(int64_t{exchanges.data_as<int32_t>()[i]});
    check(row >= 1 && row <= n, kOp, ": pivots must be between 1 and ", n, ", got ", row);
  }
  // Two negative pivots mark a 2x2 block, for which LAPACK reads the second row's pivot.
  for (int64_t i = 0; i < exchanges.numel();) {
    const int32_t* pivot = exchanges.data_as<int32_t>() + i;
    const bool is_block = pivot[0] < 0;
    check(!is_block || (i % n + 1 < n && pivot[1] < 0), kOp,
          ": a negative pivot must be followed by a second one");
    i += is_block ? 2 : 1;
  }
  const Dims strides = broadcast_strides(own, contiguous_strides(own), batch.size());
  const auto g = make_geometry<1>(batch, {IntSpan(strides)}, false);
  visit_lapack(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_matrices(numel_of(batch), n * n * k, [&](int64_t i) {
      const Odometer<1> at(g, g.sizes.size(), i);
      const T* a = packed.data_as<T>() + at.offsets()[0] * n * n;
      const int32_t* order = exchanges.data_as<int32_t>() + at.offsets()[0] * n;
      const int size = static_cast<int>(n), count = static_cast<int>(k);
      T* to = x.data_as<T>() + i * n * k;
      hermitian ? lapack::hetrs('L', size, count, a, size, order, to, size)
                : lapack::sytrs('L', size, count, a, size, order, to, size);
    });
  });
}

}  // namespace uh::kernels
