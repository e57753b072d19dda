// LDL factors of symmetric and Hermitian matrices.
#include "backend/cpu/copy/elements.h"
#include "ops/linalg/checks.h"
#include "backend/cpu/linalg/lapack.h"
#include "backend/cpu/linalg/matrices.h"
#include "generated/kernels/decompose.h"
#include "generated/ops/decompose.h"
#include "ops/geometry.h"

namespace uh::kernels {
namespace {

std::string zero_pivot(int info) {
  return message("D[", info, ",", info,
                 "] is zero and using it on linalg.ldl_solve would result in a division by zero.");
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> linalg_ldl_factor_ex(KeySet, const Tensor& self, bool hermitian,
                                                        bool check_errors) {
  check_square(self, "torch.linalg.ldl_factor_ex");
  check_lapack_dtype_unless_empty(self, "torch.linalg.ldl_factor_ex");
  const Dims batch = batch_of(self);
  const int64_t n = rows_of(self);
  check_lapack_size(64 * n, n, "torch.linalg.ldl_factor_ex");
  const Tensor packed = column_major_copy(self);
  const Tensor pivots = empty(with_last(batch, n), DType::kInt32, self.device());
  const Tensor result = empty(batch, DType::kInt32, self.device());
  if (self.is_meta()) return {packed, pivots, result};
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
  for (const Tensor& t : {packed, pivots, result}) record_write(t);
  if (check_errors) check_info(result, "torch.linalg.ldl_factor_ex", zero_pivot);
  return {packed, pivots, result};
}

std::tuple<Tensor, Tensor> linalg_ldl_factor(KeySet, const Tensor& self, bool hermitian) {
  const auto [packed, pivots, info_codes] = ops::linalg_ldl_factor_ex(self, hermitian, false);
  check_info(info_codes, "torch.linalg.ldl_factor", zero_pivot);
  return {packed, pivots};
}

Tensor linalg_ldl_solve(KeySet, const Tensor& ld, const Tensor& pivots, const Tensor& b,
                        bool hermitian) {
  constexpr std::string_view kOp = "torch.linalg.ldl_solve";
  check_square(ld, kOp, "LD");
  check_lapack_dtype_unless_empty(ld, kOp);
  check_same_dtype(ld, b, kOp, "LD", "B");
  check(b.ndim() >= 2, kOp, ": Expected B to have at least 2 dimensions, but it has ", b.ndim(),
        " dimensions instead");
  const int64_t n = rows_of(ld), k = columns_of(b);
  check(rows_of(b) == n, kOp, ": Expected LD.size(-1) to be the same as B.size(-2), got ", n,
        " and ", rows_of(b));
  check(pivots.sizes() == batch_of(ld, 1), kOp,
        ": Expected LD.shape[:-1] and pivots.shape to be the same, but got ", ld.sizes(), " and ",
        pivots.sizes());
  check(is_integral(pivots.dtype()), kOp, ": Expected pivots to be integers. Got ",
        info(pivots.dtype()).title);
  check(pivots.dtype() == DType::kInt32, kOp, ": Expected pivots to be int32. Got ",
        info(pivots.dtype()).title);
  check_lapack_size(n, n, kOp);
  check_lapack_size(n, k, kOp);
  const Dims batch = broadcast_shapes(batch_of(ld), batch_of(b)), own = batch_of(ld);
  const Tensor x = column_major_copy(b, matrix_sizes(batch, n, k));
  if (x.is_meta() || x.numel() == 0) return x;
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
  record_write(x);
  return x;
}

}  // namespace uh::kernels
