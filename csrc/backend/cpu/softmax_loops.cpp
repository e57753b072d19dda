#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif

#include "backend/cpu/softmax_loops.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/fold.h"
#include "backend/cpu/math.h"
#include "backend/cpu/vectors.h"

namespace uh::UH_ISA {
namespace {

constexpr int64_t kTile = 256;

// exp(t) for t <= 0. Returns 0 for masked elements (-inf) without an underflow: an operation on a
// subnormal number takes about a hundred cycles.
template <class T>
inline T decay(T t) {
  constexpr T kNothing = sizeof(T) == 4 ? T(-104) : T(-746);
  const T e = m::exp(t < kNothing ? T(0) : t);
  return t < kNothing ? T(0) : e;
}

// The largest element; NaN if there is a NaN.
template <class T>
inline T largest_of(const T* x, int64_t n) {
  using L = Lanes<T>;
  using V = typename L::Vector;
  const auto larger = [](V a, V b) { return (b > a) | (b != b) ? b : a; };
  constexpr int64_t kStep = 4 * L::kCount;
  T largest = Max::identity<T>();
  int64_t i = 0;
  if (n < kStep && n >= L::kCount) {  // short rows
    V best = L::load(x);
    for (i = L::kCount; i + L::kCount <= n; i += L::kCount) best = larger(best, L::load(x + i));
    largest = L::fold(best, larger);
  } else if (n >= kStep) {
    V best[4];
    for (int v = 0; v < 4; ++v) best[v] = L::load(x + v * L::kCount);
    for (i = kStep; i + kStep <= n; i += kStep)
      for (int v = 0; v < 4; ++v) best[v] = larger(best[v], L::load(x + i + v * L::kCount));
    largest = L::fold(larger(larger(best[0], best[1]), larger(best[2], best[3])), larger);
  }
  run<Max, AsIs<T>, T>(&largest, x + i, n - i);
  return largest;
}

// Returns the sum of kLanes sums.
template <class T>
inline double total(const T* lane) {
  using L = Lanes<T>;
  typename L::Vector sum[kLanes / L::kCount];
  for (int64_t v = 0; v < kLanes / L::kCount; ++v) sum[v] = L::load(lane + v * L::kCount);
  return static_cast<double>(L::sum(sum));
}

// Returns the sum of exp(x[i] - from); with kStore also stores the exponentials in out.
template <bool kStore, class T>
inline double exponentials(T* out, const T* x, int64_t n, T from) {
  double sum = 0;
  T lane[kLanes];
  int64_t i = 0;
  while (n - i >= kLanes) {
    const int64_t end = i + (n - i < kBlock ? (n - i) / kLanes * kLanes : kBlock);
    for (T& l : lane) l = 0;
    for (; i < end; i += kLanes) {
#pragma omp simd
      for (int64_t l = 0; l < kLanes; ++l) {
        const T e = decay(x[i + l] - from);
        if constexpr (kStore) out[i + l] = e;
        lane[l] += e;
      }
    }
    sum += total(lane);
  }
  if (i < n) {
    const int64_t remainder = n - i;
#pragma omp simd
    for (int64_t l = 0; l < remainder; ++l) lane[l] = decay(x[i + l] - from);
    if constexpr (kStore) std::copy_n(lane, remainder, out + i);
    std::fill(lane + remainder, lane + kLanes, T(0));
    sum += total(lane);
  }
  return sum;
}

template <bool kLog, class T>
void rows(void* out_, const void* x_, int64_t count, int64_t n) {
  auto* out = static_cast<T*>(out_);
  const auto* x = static_cast<const T*>(x_);
  if constexpr (kLog) {  // the logarithms of several rows at once
    constexpr int64_t kRows = 16;
    for (int64_t first = 0; first < count; first += kRows) {
      const int64_t some = std::min(kRows, count - first);
      T largest[kRows];
      double sum[kRows];
      for (int64_t r = 0; r < kRows; ++r) {
        const T* const row = x + std::min(r, some - 1) * n;
        largest[r] = r < some ? largest_of(row, n) : largest[0];
        sum[r] = r < some ? exponentials<false>(out, row, n, largest[r]) : sum[0];
      }
#pragma omp simd
      for (int64_t r = 0; r < kRows; ++r) sum[r] = ::log(sum[r]);
      for (int64_t r = 0; r < some; ++r, out += n, x += n) {
        const T less = largest[r], remainder = static_cast<T>(sum[r]);
        for (int64_t i = 0; i < n; ++i) out[i] = x[i] - less - remainder;
      }
    }
  } else {
    for (int64_t r = 0; r < count; ++r, out += n, x += n) {
      const T scale = static_cast<T>(1 / exponentials<true>(out, x, n, largest_of(x, n)));
      for (int64_t i = 0; i < n; ++i) out[i] *= scale;
    }
  }
}

template <bool kLog, class T>
void columns(void* out_, const void* x_, int64_t stride, int64_t n, int64_t count) {
  auto* out = static_cast<T*>(out_);
  const auto* x = static_cast<const T*>(x_);
  T largest[kTile], sum[kTile];
  for (int64_t j = 0; j < count; ++j) {
    largest[j] = x[j];
    sum[j] = 0;
  }
  for (int64_t i = 1; i < n; ++i)
    for (int64_t j = 0; j < count; ++j) largest[j] = Max::apply(largest[j], x[i * stride + j]);
  for (int64_t i = 0; i < n; ++i) {
    T* const to = out + i * stride;
    const T* const from = x + i * stride;
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) {
      const T e = decay(from[j] - largest[j]);
      if constexpr (!kLog) to[j] = e;
      sum[j] += e;
    }
  }
  if constexpr (kLog) {
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) sum[j] = m::log(sum[j]);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < count; ++j)
        out[i * stride + j] = x[i * stride + j] - largest[j] - sum[j];
  } else {
    for (int64_t j = 0; j < count; ++j) sum[j] = T(1) / sum[j];
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < count; ++j) out[i * stride + j] *= sum[j];
  }
}

// Returns the sum of grad[i] * y[i], or with kLog of grad[i].
template <bool kLog, class T>
inline double weighed(const T* grad, const T* y, int64_t n) {
  double sum = 0;
  T lane[kLanes];
  int64_t i = 0;
  while (n - i >= kLanes) {
    const int64_t end = i + (n - i < kBlock ? (n - i) / kLanes * kLanes : kBlock);
    for (T& l : lane) l = 0;
    for (; i < end; i += kLanes) {
#pragma omp simd
      for (int64_t l = 0; l < kLanes; ++l) lane[l] += kLog ? grad[i + l] : grad[i + l] * y[i + l];
    }
    sum += total(lane);
  }
  for (; i < n; ++i) sum += static_cast<double>(kLog ? grad[i] : grad[i] * y[i]);
  return sum;
}

template <bool kLog, class T>
void rows_backward(void* out_, const void* grad_, const void* y_, int64_t count, int64_t n) {
  auto* out = static_cast<T*>(out_);
  const auto* grad = static_cast<const T*>(grad_);
  const auto* y = static_cast<const T*>(y_);
  for (int64_t r = 0; r < count; ++r, out += n, grad += n, y += n) {
    const T sum = static_cast<T>(weighed<kLog>(grad, y, n));
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      out[i] = kLog ? grad[i] - m::exp(y[i]) * sum : (grad[i] - sum) * y[i];
  }
}

template <bool kLog, class T>
void columns_backward(void* out_, const void* grad_, const void* y_, int64_t stride, int64_t n,
                      int64_t count) {
  auto* out = static_cast<T*>(out_);
  const auto* grad = static_cast<const T*>(grad_);
  const auto* y = static_cast<const T*>(y_);
  T sum[kTile];
  for (int64_t j = 0; j < count; ++j) sum[j] = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < count; ++j)
      sum[j] += kLog ? grad[i * stride + j] : grad[i * stride + j] * y[i * stride + j];
  for (int64_t i = 0; i < n; ++i) {
    T* const to = out + i * stride;
    const T* const g = grad + i * stride;
    const T* const from = y + i * stride;
#pragma omp simd
    for (int64_t j = 0; j < count; ++j)
      to[j] = kLog ? g[j] - m::exp(from[j]) * sum[j] : (g[j] - sum[j]) * from[j];
  }
}

template <bool kLog, class T>
void fill_backward(SoftmaxLoops& loops) {
  constexpr int dtype = static_cast<int>(dtype_of<T>::value);
  loops.rows_backward[kLog ? 1 : 0][dtype] = rows_backward<kLog, T>;
  loops.columns_backward[kLog ? 1 : 0][dtype] = columns_backward<kLog, T>;
}

SoftmaxLoops make() {
  SoftmaxLoops loops{};
  fill_backward<false, float>(loops);
  fill_backward<true, float>(loops);
  fill_backward<false, double>(loops);
  fill_backward<true, double>(loops);
  constexpr int kFloat = static_cast<int>(DType::kFloat32);
  constexpr int kDouble = static_cast<int>(DType::kFloat64);
  loops.rows[0][kFloat] = rows<false, float>;
  loops.rows[1][kFloat] = rows<true, float>;
  loops.rows[0][kDouble] = rows<false, double>;
  loops.rows[1][kDouble] = rows<true, double>;
  loops.columns[0][kFloat] = columns<false, float>;
  loops.columns[1][kFloat] = columns<true, float>;
  loops.columns[0][kDouble] = columns<false, double>;
  loops.columns[1][kDouble] = columns<true, double>;
  return loops;
}

}  // namespace

const SoftmaxLoops& softmax_loops() {
  static const SoftmaxLoops loops = make();
  return loops;
}

}  // namespace uh::UH_ISA
