#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif

#include "backend/cpu/attention_loops.h"

#include <limits>

#include "backend/cpu/math.h"

namespace uh::UH_ISA {
namespace {

constexpr int64_t kLanes = 16;  // fixed, so that all instruction sets add in the same order

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

template <class T>
void keep(T* scores, const bool* mask, int64_t step, int64_t n) {
  if (step == 1) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) scores[i] = mask[i] ? scores[i] : kNever<T>;
  } else if (!*mask) {
    for (int64_t i = 0; i < n; ++i) scores[i] = kNever<T>;
  }
}

template <class T>
void add(T* scores, const T* mask, int64_t step, int64_t n) {
  if (step == 1) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) scores[i] += mask[i];
  } else {
    for (int64_t i = 0; i < n; ++i) scores[i] += *mask;
  }
}

// Reduces the lanes by halves, to avoid a chain of 16 dependent steps at each row's end.
template <class T, class Meet>
inline T fold_lanes(T* lane, Meet meet) {
#pragma GCC unroll 4
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int64_t l = 0; l < half; ++l) lane[l] = meet(lane[l], lane[l + half]);
  }
  return lane[0];
}

template <class T>
void slopes(T* scores, T* gradients, T logsumexp, T mean, int64_t n) {
  const T from = logsumexp == kNever<T> ? T(0) : logsumexp;  // no keys
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const T weight = m::exp(scores[i] - from);
    scores[i] = weight;
    gradients[i] = weight * (gradients[i] - mean);
  }
}

template <class T>
T dot(const T* a, const T* b, int64_t n) {
  T lane[kLanes];
  for (T& l : lane) l = 0;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (int64_t l = 0; l < kLanes; ++l) lane[l] += a[i + l] * b[i + l];
  }
  for (int64_t l = 0; i < n; ++i, ++l) lane[l] += a[i] * b[i];
  return fold_lanes(lane, [](T x, T y) { return x + y; });
}

template <class T>
T largest_of(const T* x, int64_t n) {
  const auto larger = [](T a, T b) { return a < b ? b : a; };
  T lane[kLanes];
  for (T& l : lane) l = kNever<T>;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (int64_t l = 0; l < kLanes; ++l) lane[l] = larger(lane[l], x[i + l]);
  }
  for (int64_t l = 0; i < n; ++i, ++l) lane[l] = larger(lane[l], x[i]);
  return fold_lanes(lane, larger);
}

// x[i] = exp(x[i] - from). Returns their sum; NaN if any of them is NaN.
template <class T>
T exponentials(T* x, int64_t n, T from) {
  T lane[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (int64_t l = 0; l < kLanes; ++l) {
      x[i + l] = m::exp(x[i + l] - from);
      lane[l] += x[i + l];
    }
  }
  for (int64_t l = 0; i < n; ++i, ++l) {
    x[i] = m::exp(x[i] - from);
    lane[l] += x[i];
  }
  return fold_lanes(lane, [](T a, T b) { return a + b; });
}

template <class T>
void absorb(const ScoreBlock<T>& b) {
  for (int64_t r = 0; r < b.rows; ++r) {
    T* const row = b.scores + r * b.keys;
    const T before = b.largest[r], here = largest_of(row, b.keys);
    const T largest = before < here ? here : before;
    // Subtracting an infinite maximum would turn masked scores into NaN.
    const T sum = exponentials(row, b.keys, largest == kNever<T> ? T(0) : largest);
    b.largest[r] = largest;
    if (before == largest || before == kNever<T>) {  // earlier sums need no rescaling
      b.sum[r] = before == kNever<T> ? sum : b.sum[r] + sum;
      continue;
    }
    const T factor = m::exp(before - largest);
    b.sum[r] = b.sum[r] * factor + sum;
    T* const out = b.out + r * b.width;
#pragma omp simd
    for (int64_t i = 0; i < b.width; ++i) out[i] *= factor;
  }
}

template <class T>
void finish(const ScoreBlock<T>& b) {
  for (int64_t r = 0; r < b.rows; ++r) {
    const T scale = T(1) / b.sum[r];
    const bool none = b.sum[r] == 0;
    T* const out = b.out + r * b.width;
#pragma omp simd
    for (int64_t i = 0; i < b.width; ++i) out[i] = none ? T(0) : out[i] * scale;
  }
}

template <class T>
constexpr AttentionLoops<T> kLoops{keep<T>, add<T>, absorb<T>, finish<T>, slopes<T>, dot<T>};

}  // namespace

const FloatAttention& float_attention_loops() { return kLoops<float>; }
const DoubleAttention& double_attention_loops() { return kLoops<double>; }

}  // namespace uh::UH_ISA
