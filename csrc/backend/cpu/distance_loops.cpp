#include "backend/cpu/distance_loops.h"

#include <cmath>
#include <limits>

namespace uh::UH_ISA {
namespace {

// Sums over k in a fixed number of lanes, so that the order does not depend on the register width.
template <class T, class F>
T summed(const T* x, const T* y, int64_t k, const F& f) {
  constexpr int64_t kLanes = 64 / sizeof(T);
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] += f(x[i + l] - y[i + l]);
  T sum = 0;
  for (int64_t l = 0; l < kLanes; ++l) sum += lanes[l];
  for (; i < k; ++i) sum += f(x[i] - y[i]);
  return sum;
}

template <class T>
T largest(const T* x, const T* y, int64_t k) {
  T result = 0;
  for (int64_t i = 0; i < k; ++i) {
    const T d = __builtin_fabs(x[i] - y[i]);
    result = d > result || d != d ? d : result;
    if (d != d) return d;
  }
  return result;
}

template <class T>
T root(T v) {
  if constexpr (sizeof(T) == 4)
    return __builtin_sqrtf(v);
  else
    return __builtin_sqrt(v);
}

template <class T>
void row(T* out, const T* x, const T* y, int64_t n, int64_t k, double p) {
  for (int64_t j = 0; j < n; ++j, y += k) {
    if (p == 2) {
      out[j] = root(summed(x, y, k, [](T d) { return d * d; }));
    } else if (p == 1) {
      out[j] = summed(x, y, k, [](T d) { return d < 0 ? -d : d; });
    } else if (p == 0) {
      out[j] = summed(x, y, k, [](T d) { return d != 0 ? T(1) : T(0); });
    } else if (p == std::numeric_limits<double>::infinity()) {
      out[j] = largest(x, y, k);
    } else {
      double sum = 0;
      for (int64_t i = 0; i < k; ++i)
        sum += ::pow(static_cast<double>(__builtin_fabs(x[i] - y[i])), p);
      out[j] = static_cast<T>(::pow(sum, 1 / p));
    }
  }
}

template <class T>
T sign(T v) {
  return static_cast<T>((v > 0) - (v < 0));
}

// A distance of 0 has no direction: its gradient is 0.
template <class T>
void pull(T* out, const T* x, const T* y, const T* g, const T* d, int64_t n, int64_t k, double p) {
  for (int64_t i = 0; i < k; ++i) out[i] = 0;
  if (p == 0) return;
  for (int64_t j = 0; j < n; ++j, y += k) {
    if (p == 1) {
      for (int64_t i = 0; i < k; ++i) out[i] += g[j] * sign(x[i] - y[i]);
      continue;
    }
    if (d[j] == 0) continue;
    if (p == 2) {
      const T scale = g[j] / d[j];
      for (int64_t i = 0; i < k; ++i) out[i] += scale * (x[i] - y[i]);
    } else if (p == std::numeric_limits<double>::infinity()) {
      for (int64_t i = 0; i < k; ++i) {
        const T gap = x[i] - y[i];
        out[i] += __builtin_fabs(gap) == d[j] ? g[j] * sign(gap) : T(0);
      }
    } else {
      const double scale = static_cast<double>(g[j]) / ::pow(static_cast<double>(d[j]), p - 1);
      for (int64_t i = 0; i < k; ++i) {
        const T gap = x[i] - y[i];
        if (gap == 0) continue;
        const double power = ::pow(static_cast<double>(__builtin_fabs(gap)), p - 1);
        out[i] += static_cast<T>(scale * power) * sign(gap);
      }
    }
  }
}

}  // namespace

const DistanceLoops& distance_loops() {
  static const DistanceLoops loops{row<float>, row<double>, pull<float>, pull<double>};
  return loops;
}

}  // namespace uh::UH_ISA
