#include "backend/cpu/sparse_loops.h"

namespace uh::UH_ISA {
namespace {

// Keeps kWidth columns of the result in registers while it adds the entries of a row.
template <class T, int kWidth>
inline void columns_of_row(T* __restrict out, const int64_t* __restrict columns,
                           const T* __restrict values, int64_t n, const T* __restrict dense,
                           int64_t stride, T scale, T factor) {
  constexpr int64_t kAhead = 8;
  T sum[kWidth] = {};
  for (int64_t i = 0; i < n; ++i) {
    if (i + kAhead < n) {
      const T* next = dense + columns[i + kAhead] * stride;
      for (int j = 0; j < kWidth; j += 64 / static_cast<int>(sizeof(T))) __builtin_prefetch(next + j);
    }
    const T value = values[i];
    const T* __restrict row = dense + columns[i] * stride;
    for (int j = 0; j < kWidth; ++j) sum[j] += value * row[j];
  }
  if (scale == T(0))
    for (int j = 0; j < kWidth; ++j) out[j] = factor * sum[j];
  else
    for (int j = 0; j < kWidth; ++j) out[j] = scale * out[j] + factor * sum[j];
}

template <class T>
void times_dense(T* out, int64_t out_stride, const SparseRows& rows, const T* dense,
                 int64_t dense_stride, int64_t width, T scale, T factor, int64_t lo, int64_t hi) {
  constexpr int kVector = 64 / static_cast<int>(sizeof(T));
  const auto* all = static_cast<const T*>(rows.values);
  for (int64_t r = lo; r < hi; ++r) {
    const int64_t begin = rows.bounds[r], n = rows.bounds[r + 1] - begin;
    const int64_t* columns = rows.columns + begin;
    const T* values = all + begin;
    T* to = out + r * out_stride;
    int64_t j = 0;
    for (; j + 4 * kVector <= width; j += 4 * kVector)
      columns_of_row<T, 4 * kVector>(to + j, columns, values, n, dense + j, dense_stride, scale, factor);
    for (; j + kVector <= width; j += kVector)
      columns_of_row<T, kVector>(to + j, columns, values, n, dense + j, dense_stride, scale, factor);
    for (; j + kVector / 4 <= width; j += kVector / 4)
      columns_of_row<T, kVector / 4>(to + j, columns, values, n, dense + j, dense_stride, scale, factor);
    for (; j < width; ++j)
      columns_of_row<T, 1>(to + j, columns, values, n, dense + j, dense_stride, scale, factor);
  }
}

template <class T>
T dot(const T* __restrict a, const T* __restrict b, int64_t n) {
  constexpr int kLanes = 64 / static_cast<int>(sizeof(T));
  T sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int j = 0; j < kLanes; ++j) sums[j] += a[i + j] * b[i + j];
  T sum = 0;
  for (int j = 0; j < kLanes; ++j) sum += sums[j];
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

template <class T>
constexpr SparseProductLoops<T> kLoops{times_dense<T>, dot<T>};

}  // namespace

const SparseLoops& sparse_loops() {
  static const SparseLoops loops{kLoops<float>, kLoops<double>};
  return loops;
}

}  // namespace uh::UH_ISA
