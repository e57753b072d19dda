// Sizes and layouts of batches of matrices.
//
// Invariant: in a tensor created here each matrix is contiguous and column-major (strides 1 and
// max(rows, 1)), and the matrices are in row-major order of the batch. PyTorch returns factors and
// inverses in the same layout.
#pragma once

#include "memory/device_registry.h"
#include "ops/copy/device_copy.h"
#include "tensor/tensor.h"
#include "tensor/thread_state.h"

namespace uh {

inline int64_t rows_of(const Tensor& t) { return t.size(t.ndim() - 2); }
inline int64_t columns_of(const Tensor& t) { return t.size(t.ndim() - 1); }

// True if a gradient may be required: then eigenvectors or singular vectors are computed too.
inline bool may_need_gradient(const Tensor& t) {
  return grad_enabled() && t.keys().has(Key::kAutograd) && t.impl()->requires_grad();
}

// Returns the sizes before the last `own`.
Dims batch_of(const Tensor& t, int64_t own = 2);
// Returns the sizes of the dimensions `dims`, which become the rows or columns of a matrix.
Dims sizes_at(const Tensor& t, const Dims& dims);
Dims matrix_sizes(const Dims& batch, int64_t rows, int64_t columns);
Dims with_last(const Dims& batch, int64_t size);

Dims column_major_strides(IntSpan sizes);
Tensor empty_column_major(const Dims& sizes, DType dtype, Device device);
// Throws if matrices or work spaces are too large for LAPACK's int32 sizes.
void check_lapack_size(int64_t rows, int64_t columns, std::string_view op);

// Throws LinAlgError for the first member of a batch whose info is not 0; `reason(info)` says why.
template <class F>
void check_info(const Tensor& info, std::string_view op, const F& reason) {
  if (info.is_meta()) return;
  if (!is_host(info.device())) return check_info(copy_to_host(info), op, reason);
  const auto* values = info.data_as<int32_t>();
  for (int64_t i = 0; i < info.numel(); ++i) {
    if (values[i] == 0) continue;
    fail(ErrorKind::kLinAlg, op, ": ", info.ndim() ? message("(Batch element ", i, "): ") : "",
         reason(values[i]));
  }
}

}  // namespace uh
