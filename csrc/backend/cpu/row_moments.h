// Mean and sum of squared distances of a run of elements.
//
// Included by *_loops.cpp only. Two passes over a block that fits L1, first the mean, then the
// distances from it, to avoid cancellation.
#pragma once

#include "backend/cpu/fold.h"
#include "backend/cpu/vectors.h"

namespace uh::UH_ISA {
namespace {

// Chan's formula: merges the moments of two sets.
inline void join(Moments& a, double mean, double squares, double count) {
  if (count == 0) return;
  if (a.count == 0) {
    a = {mean, squares, count};
    return;
  }
  const double n = a.count + count;
  const double distance = mean - a.mean;
  const double share = count / n;
  a.mean += distance * share;
  a.squares += squares + distance * distance * a.count * share;
  a.count = n;
}

// Computes the sums of x[i] - from and of its square, for n elements of a block.
template <class T>
inline void distances(const T* x, int64_t n, T from, double& sum, double& squares) {
  using L = Lanes<T>;
  using V = typename L::Vector;
  constexpr int64_t kStep = 32, kParts = kStep / L::kCount;
  V first[kParts] = {}, second[kParts] = {};
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
#pragma GCC unroll 16
    for (int64_t v = 0; v < kParts; ++v) {
      const V d = L::load(x + i + v * L::kCount) - from;
      first[v] += d;
      second[v] += d * d;
    }
  }
  if (i < n) {  // the tail of a step has distance 0
    alignas(64) T tail[kStep];
    for (int64_t l = 0; l < kStep; ++l) tail[l] = l < n - i ? x[i + l] - from : T(0);
#pragma GCC unroll 16
    for (int64_t v = 0; v < kParts; ++v) {
      const V d = L::load(tail + v * L::kCount);
      first[v] += d;
      second[v] += d * d;
    }
  }
  sum = static_cast<double>(L::sum(first));
  squares = static_cast<double>(L::sum(second));
}

// True if no square of a distance was infinite, or so small that it lost digits.
template <class T>
inline bool is_in_range(T squares, int64_t n) {
  constexpr T kSmallest = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  return squares >= kSmallest * static_cast<T>(n) && squares <= std::numeric_limits<T>::max();
}

// Adds n elements, `stride` apart, to `acc`; computed in double precision.
template <class T>
inline void add_moments_in_double(Moments& acc, const T* x, int64_t stride, int64_t n) {
  double total = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) total += static_cast<double>(x[i * stride]);
  const double mean = total / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(x[i * stride]) - mean;
    squares += d * d;
  }
  join(acc, mean, squares, static_cast<double>(n));
}

// Adds n elements to `acc`.
template <class T>
inline void add_moments(Moments& acc, const T* x, int64_t n) {
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = n - i < kBlock ? n - i : kBlock;
    const auto count = static_cast<double>(m);
    double total = 0, sum = 0, squares = 0;
    run<Sum, AsIs<T>, double>(&total, x + i, m);
    const T from = static_cast<T>(total / count);
    distances(x + i, m, from, sum, squares);
    if constexpr (sizeof(T) < sizeof(double)) {
      if (!is_in_range(static_cast<T>(squares), m)) {
        add_moments_in_double(acc, x + i, 1, m);
        continue;
      }
    }
    // `from` is the rounded mean; its error is the mean of the distances.
    const double remainder = from - from == T(0) ? sum / count : 0;
    join(acc, static_cast<double>(from) + remainder, squares - sum * remainder, count);
  }
}

}  // namespace
}  // namespace uh::UH_ISA
