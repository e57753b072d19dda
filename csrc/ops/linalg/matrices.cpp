#include "ops/linalg/matrices.h"

#include <algorithm>

namespace uh {

Dims batch_of(const Tensor& t, int64_t own) {
  return Dims(IntSpan(t.sizes().data(), static_cast<size_t>(t.ndim() - own)));
}

Dims sizes_at(const Tensor& t, const Dims& dims) {
  Dims sizes;
  for (int64_t d : dims) sizes.push_back(t.size(d));
  return sizes;
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

void check_lapack_size(int64_t rows, int64_t columns, std::string_view op) {
  constexpr int64_t kMaxElements = 1 << 28;
  const bool fits = rows < kMaxElements && columns < kMaxElements &&
                    (columns == 0 || rows <= kMaxElements / columns) &&
                    std::max(rows, columns) <= 20000;
  check(fits, op, ": matrices of ", rows, " by ", columns,
        " are larger than LAPACK's 32-bit work spaces allow");
}

}  // namespace uh
