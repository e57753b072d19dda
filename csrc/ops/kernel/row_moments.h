// Mean and squared distances of a run of elements, for the loops that need them.
//
// Included by *_loops.cpp only. Two passes over a block that fits L1: the mean first, then the
// distances from it, so that nothing cancels.
#pragma once

#include "ops/kernel/fold.h"

namespace uh::UH_ISA {
namespace {

// Chan's formula: moments of two sets give those of both.
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

// The sum of x[i] - from and of their squares.
template <class T>
inline void distances(const T* x, int64_t n, T from, double& sum, double& squares) {
  T first[kLanes] = {}, second[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      const T d = x[i + l] - from;
      first[l] += d;
      second[l] += d * d;
    }
  }
  double a[kLanes], b[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) {
    a[l] = static_cast<double>(first[l]);
    b[l] = static_cast<double>(second[l]);
  }
  for (int64_t l = 0; i + l < n; ++l) {
    const double d = static_cast<double>(x[i + l]) - static_cast<double>(from);
    a[l] += d;
    b[l] += d * d;
  }
  for (int64_t w = kLanes / 2; w > 0; w /= 2) {
    for (int64_t l = 0; l < w; ++l) {
      a[l] += a[l + w];
      b[l] += b[l + w];
    }
  }
  sum = a[0];
  squares = b[0];
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
    // `from` is the mean rounded; what it lacks is the mean of the distances.
    const double rest = from - from == T(0) ? sum / count : 0;
    join(acc, static_cast<double>(from) + rest, squares - sum * rest, count);
  }
}

}  // namespace
}  // namespace uh::UH_ISA
