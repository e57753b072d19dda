#include "backend/cpu/distance_loops.h"

#include <cmath>
#include <limits>

#include "backend/cpu/vectors.h"

namespace uh::UH_ISA {
namespace {

constexpr int64_t kRows = kPackedRows;

template <class T>
void pack(T* packed, const T* rows, int64_t n, int64_t k) {
  for (int64_t j = 0; j < n; j += kRows, packed += kRows * k) {
    for (int64_t r = 0; r < kRows; ++r) {
      const T* row = rows + (j + r < n ? j + r : n - 1) * k;
      for (int64_t i = 0; i < k; ++i) packed[i * kRows + r] = row[i];
    }
  }
}

// total[r] = the sum of f(x[i] - y[r][i]) over i. Blocks are summed before they are added to the
// total: the error grows with the number of blocks.
template <class T, class F>
void sums(T* total, const T* x, const T* y, int64_t k, const F& f) {
  constexpr int64_t kBlock = 128;
  for (int64_t r = 0; r < kRows; ++r) total[r] = 0;
  for (int64_t i = 0; i < k;) {
    const int64_t end = k - i < kBlock ? k : i + kBlock;
    T sum[kRows] = {};
    for (; i < end; ++i) {
      for (int64_t r = 0; r < kRows; ++r) sum[r] += f(x[i] - y[i * kRows + r]);
    }
    for (int64_t r = 0; r < kRows; ++r) total[r] += sum[r];
  }
}

// The largest |x[i] - y[r][i]|, or NaN if there is one.
template <class T>
void largest(T* result, const T* x, const T* y, int64_t k) {
  for (int64_t r = 0; r < kRows; ++r) result[r] = 0;
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t r = 0; r < kRows; ++r) {
      const T d = __builtin_fabs(x[i] - y[i * kRows + r]);
      const T larger = d > result[r] ? d : result[r];
      result[r] = d != d || result[r] != result[r] ? x[i] - y[i * kRows + r] + result[r] : larger;
    }
  }
}

template <class T>
T root(T v) {
  if constexpr (sizeof(T) == 4)
    return __builtin_sqrtf(v);
  else
    return __builtin_sqrt(v);
}

template <class T>
void distances(T* result, const T* x, const T* y, int64_t k, double p) {
  if (p == 2) {
    sums(result, x, y, k, [](T d) { return d * d; });
    for (int64_t r = 0; r < kRows; ++r) result[r] = root(result[r]);
  } else if (p == 1) {
    sums(result, x, y, k, [](T d) { return d < 0 ? -d : d; });
  } else if (p == 0) {
    sums(result, x, y, k, [](T d) { return d != 0 ? T(1) : T(0); });
  } else if (p == std::numeric_limits<double>::infinity()) {
    largest(result, x, y, k);
  } else {
    for (int64_t r = 0; r < kRows; ++r) {
      double sum = 0;
      for (int64_t i = 0; i < k; ++i)
        sum += ::pow(static_cast<double>(__builtin_fabs(x[i] - y[i * kRows + r])), p);
      result[r] = static_cast<T>(::pow(sum, 1 / p));
    }
  }
}

template <class T>
void row(T* out, const T* x, const T* y, int64_t first, int64_t n, int64_t k, double p) {
  for (int64_t j = first / kRows * kRows; j < n; j += kRows) {
    T result[kRows];
    distances(result, x, y + j * k, k, p);
    const int64_t end = n - j < kRows ? n - j : kRows;
    for (int64_t r = j < first ? first - j : 0; r < end; ++r) out[j + r - first] = result[r];
  }
}

template <class T>
T sign(T v) {
  return static_cast<T>((v > 0) - (v < 0));
}

// out[i] = the sum of scale[j] (x[i] - y[j k + i]) over j, for kWidth columns i from each of kCount
// first ones. The sums stay in registers.
template <int kWidth, int kCount, class T>
void pull_columns(T* out, const T* x, const T* y, const T* scale, int64_t n, int64_t k,
                  const int64_t* first) {
  typedef T Vector __attribute__((vector_size(kWidth * sizeof(T))));
  typedef T Loose __attribute__((vector_size(kWidth * sizeof(T)), aligned(alignof(T)), may_alias));
  Vector at[kCount], sum[kCount] = {};
#pragma GCC unroll 4
  for (int v = 0; v < kCount; ++v) at[v] = *reinterpret_cast<const Loose*>(x + first[v]);
  for (int64_t j = 0; j < n; ++j) {
#pragma GCC unroll 4
    for (int v = 0; v < kCount; ++v)
      sum[v] += scale[j] * (at[v] - *reinterpret_cast<const Loose*>(y + j * k + first[v]));
  }
#pragma GCC unroll 4
  for (int v = 0; v < kCount; ++v) *reinterpret_cast<Loose*>(out + first[v]) = sum[v];
}

// All columns: vectors of kWidth <= k, of which the last may overlap its neighbour.
template <int kWidth, class T>
void pull_straight(T* out, const T* x, const T* y, const T* scale, int64_t n, int64_t k) {
  if constexpr (kWidth > 1) {
    if (k < kWidth) return pull_straight<kWidth / 2>(out, x, y, scale, n, k);
  }
  const auto next = [&](int64_t i) { return i + kWidth < k ? i : k - kWidth; };
  int64_t i = 0;
  for (; i + 2 * kWidth < k; i += 4 * kWidth) {
    const int64_t first[] = {i, next(i + kWidth), next(i + 2 * kWidth), next(i + 3 * kWidth)};
    pull_columns<kWidth, 4>(out, x, y, scale, n, k, first);
  }
  if (i >= k) return;
  const int64_t first[] = {next(i), next(i + kWidth)};
  pull_columns<kWidth, 2>(out, x, y, scale, n, k, first);
}

// A distance of 0 has no direction: its gradient is 0.
template <class T>
void pull(T* out, const T* x, const T* y, const T* g, const T* d, T* scales, int64_t n, int64_t k,
          double p) {
  if (p == 2) {
    for (int64_t j = 0; j < n; ++j) scales[j] = d[j] == 0 ? T(0) : g[j] / d[j];
    return pull_straight<Lanes<T>::kCount>(out, x, y, scales, n, k);
  }
  for (int64_t i = 0; i < k; ++i) out[i] = 0;
  if (p == 0) return;
  for (int64_t j = 0; j < n; ++j, y += k) {
    if (p == 1) {
      for (int64_t i = 0; i < k; ++i) out[i] += g[j] * sign(x[i] - y[i]);
      continue;
    }
    if (d[j] == 0) continue;
    if (p == std::numeric_limits<double>::infinity()) {
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
  static const DistanceLoops loops{pack<float>, pack<double>, row<float>,
                                   row<double>, pull<float>,  pull<double>};
  return loops;
}

}  // namespace uh::UH_ISA
