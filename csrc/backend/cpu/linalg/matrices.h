// Batches of matrices for LAPACK: column-major tensors, and loops over their members.
//
// Invariant: in a tensor created here each matrix is contiguous and column-major (strides 1 and
// max(rows, 1)), and the matrices are in row-major order of the batch. PyTorch returns factors and
// inverses in the same layout.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "memory/device_registry.h"
#include "ops/copy/device_copy.h"
#include "tensor/tensor.h"
#include "tensor/thread_state.h"

namespace uh {

inline int64_t rows_of(const Tensor& t) { return t.size(t.ndim() - 2); }
inline int64_t columns_of(const Tensor& t) { return t.size(t.ndim() - 1); }

// True if a gradient may be required: then eigenvectors or singular vectors are computed too.
inline bool may_need_gradient(const Tensor& t) {
  return grad_enabled() && t.keys().has(Key::kAutograd);
}

// Returns the sizes before the last `own`.
Dims batch_of(const Tensor& t, int64_t own = 2);
Dims matrix_sizes(const Dims& batch, int64_t rows, int64_t columns);
Dims with_last(const Dims& batch, int64_t size);

Dims column_major_strides(IntSpan sizes);
Tensor empty_column_major(const Dims& sizes, DType dtype, Device device);
// Returns a column-major copy of `t`, broadcast to `sizes`; only the layout of a meta tensor.
Tensor column_major_copy(const Tensor& t, const Dims& sizes);
inline Tensor column_major_copy(const Tensor& t) { return column_major_copy(t, t.sizes()); }

// Throws if matrices or work spaces are too large for LAPACK's int32 sizes.
void check_lapack_size(int64_t rows, int64_t columns, std::string_view op);

// Sets up `count` LAPACK calls: a single one uses all BLAS threads, many run in parallel.
void run_matrices(int64_t count, int64_t work, void (*body)(const void*, int64_t),
                  const void* context);

// Calls f(i) for each of `count` matrices; `work` estimates the arithmetic of one.
template <class F>
void for_matrices(int64_t count, int64_t work, const F& f) {
  run_matrices(
      count, work, [](const void* opaque, int64_t i) { (*static_cast<const F*>(opaque))(i); }, &f);
}

// Calls f(T{}) for LAPACK's four dtypes.
template <class F>
void visit_lapack(DType dtype, const F& f) {
  switch (dtype) {
    case DType::kFloat32: return f(float{});
    case DType::kFloat64: return f(double{});
    case DType::kComplex64: return f(Complex64{});
    case DType::kComplex128: return f(Complex128{});
    default: no_such_dtype(dtype);
  }
}

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<Complex<R>> {
  using type = R;
};
template <class T>
using real_t = typename RealOf<T>::type;

// conj for all four types; a real number is returned unchanged.
template <class T>
T conjugated(T v) {
  if constexpr (is_complex_v<T>)
    return conj(v);
  else
    return v;
}

// Sets a column-major matrix to the identity.
template <class T>
void set_identity(T* a, int64_t rows, int64_t columns) {
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i) a[i + j * rows] = i == j ? T(1) : T(0);
}

// Zeroes the elements above (or below) the diagonal of a column-major matrix.
template <class T>
void clear_triangle(T* a, int64_t rows, int64_t columns, bool above) {
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i)
      if (above ? i < j : i > j) a[i + j * rows] = T(0);
}

// Throws LinAlgError for the first member of a batch whose info is not 0; `why(info)` returns the
// reason.
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

// Returns true if a matrix is finite: some LAPACK iterations never end on an infinity.
template <class T>
bool all_finite(const T* values, int64_t n) {
  using R = real_t<T>;
  const auto* parts = reinterpret_cast<const R*>(values);
  const int64_t count = n * static_cast<int64_t>(sizeof(T) / sizeof(R));
  return std::all_of(parts, parts + count, [](R v) { return std::isfinite(v); });
}

}  // namespace uh
