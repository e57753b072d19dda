#include "backend/cpu/linalg/matrices.h"

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/linalg/gemm.h"
#include "backend/cpu/linalg/lapack.h"
#include "ops/geometry.h"

namespace uh {

Dims batch_of(const Tensor& t, int64_t own) {
  return Dims(IntSpan(t.sizes().data(), static_cast<size_t>(t.ndim() - own)));
}

Dims matrix_sizes(const Dims& batch, int64_t rows, int64_t columns) {
  return with_last(with_last(batch, rows), columns);
}

Dims with_last(const Dims& batch, int64_t size) {
  Dims out = batch;
  out.push_back(size);
  return out;
}

Dims column_major_strides(IntSpan sizes) {
  Dims strides = contiguous_strides(sizes);
  const size_t n = sizes.size();
  if (n >= 2) {
    strides[n - 1] = std::max<int64_t>(sizes[n - 2], 1);
    strides[n - 2] = 1;
  }
  return strides;
}

Tensor empty_column_major(const Dims& sizes, DType dtype, Device device) {
  return empty_strided(sizes, column_major_strides(sizes), dtype, device);
}

Tensor column_major_copy(const Tensor& t, const Dims& sizes) {
  Tensor out = empty_column_major(sizes, t.dtype(), t.device());
  if (!out.is_meta()) copy_elements(out, t);
  return out;
}

void check_lapack_size(int64_t rows, int64_t columns, std::string_view op) {
  constexpr int64_t kLargest = 1 << 28;
  const bool fits = rows < kLargest && columns < kLargest &&
                    (columns == 0 || rows <= kLargest / columns) &&
                    std::max(rows, columns) <= 20000;
  check(fits, op, ": matrices of ", rows, " by ", columns,
        " are larger than LAPACK's 32-bit work spaces allow");
}

void run_matrices(int64_t count, int64_t work, void (*body)(const void*, int64_t),
                  const void* context) {
  static const bool quiet = [] {
    scipy_LAPACKE_set_nancheck(0);  // NaNs propagate as in PyTorch
    return true;
  }();
  (void)quiet;
  const bool side_by_side = count > 1 && work < (int64_t{1} << 24);
  set_blas_threads(side_by_side ? 1 : get_num_threads());
  const auto run = [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) body(context, i);
  };
  if (!side_by_side) return run(0, count);
  parallel_for(0, count, std::max<int64_t>(1, 65536 / std::max<int64_t>(work, 1)), run);
}

}  // namespace uh
