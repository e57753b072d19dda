// Batches of matrices for LAPACK: column-major tensors, and loops over their members.
//
// Invariant: a tensor made here has each matrix whole and column-major (strides 1 and max(rows,
// 1)), and the matrices one after another in row-major order of the batch; that is also the layout
// in which PyTorch returns factors and inverses.
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

// True if a gradient may be required: then the vectors that belong to values are computed too.
inline bool may_need_gradient(const Tensor& t) {
  return grad_enabled() && t.keys().has(Key::kAutograd);
}

// The sizes in front of the last `own`.
Dims batch_of(const Tensor& t, int64_t own = 2);
Dims matrix_sizes(const Dims& batch, int64_t rows, int64_t columns);
Dims with_last(const Dims& batch, int64_t size);

Dims column_major_strides(IntSpan sizes);
Tensor empty_column_major(const Dims& sizes, DType dtype, Device device);
// A column-major copy of `t`, broadcast to `sizes`; of a meta tensor only the layout.
Tensor column_major_copy(const Tensor& t, const Dims& sizes);
inline Tensor column_major_copy(const Tensor& t) { return column_major_copy(t, t.sizes()); }

// LAPACK counts in int32, its work spaces included; checks that matrices are not too large for it.
void check_lapack_size(int64_t rows, int64_t columns, std::string_view op);

// Prepares for `count` LAPACK calls: one uses all of BLAS's threads, many run side by side.
void run_matrices(int64_t count, int64_t work, void (*body)(const void*, int64_t),
                  const void* context);

// Calls f(i) for each of `count` matrices; `work` is about the arithmetic that one of them needs.
template <class F>
void for_matrices(int64_t count, int64_t work, const F& f) {
  run_matrices(
      count, work, [](const void* opaque, int64_t i) { (*static_cast<const F*>(opaque))(i); }, &f);
}

// Calls f(T{}) for the four dtypes of LAPACK.
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

// conj of a real number is itself; the same name for all four types.
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

// Sets what lies above (or below) the diagonal of a column-major matrix to 0.
template <class T>
void clear_triangle(T* a, int64_t rows, int64_t columns, bool above) {
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i)
      if (above ? i < j : i > j) a[i + j * rows] = T(0);
}

// Throws LinAlgError, naming the first member of a batch whose info is not 0. `why(info)` says what
// that means.
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

// True if a matrix may be passed to LAPACK's iterations: with an infinity some of them never end.
template <class T>
bool all_finite(const T* values, int64_t n) {
  using R = real_t<T>;
  const auto* parts = reinterpret_cast<const R*>(values);
  const int64_t count = n * static_cast<int64_t>(sizeof(T) / sizeof(R));
  return std::all_of(parts, parts + count, [](R v) { return std::isfinite(v); });
}

}  // namespace uh
