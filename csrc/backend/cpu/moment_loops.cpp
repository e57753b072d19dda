// Folds with several numbers as accumulator: mean and variance, and log(sum(exp(x))).
//
// Both take a block that fits L1, compute its reference (the mean, or the largest element), go over
// the block again relative to it, and merge the result into the accumulator. This avoids
// cancellation and overflow, and reads memory once.
#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif

#include <cmath>

#include "backend/cpu/math.h"
#include "backend/cpu/row_moments.h"

namespace uh::UH_ISA {
namespace {

constexpr int64_t kTile = 128;  // columns folded together
constexpr int64_t kDepth = 32;  // rows per tile

template <class T>
void moments_run(void* acc, const void* x, int64_t n) {
  add_moments(*static_cast<Moments*>(acc), static_cast<const T*>(x), n);
}

template <class T>
void moments_columns(void* acc_, const void* x_, int64_t stride, int64_t rows, int64_t n) {
  auto* acc = static_cast<Moments*>(acc_);
  const auto* x = static_cast<const T*>(x_);
  for (int64_t j = 0; j < n; j += kTile) {
    const int64_t w = n - j < kTile ? n - j : kTile;
    for (int64_t r = 0; r < rows; r += kDepth) {
      const int64_t h = rows - r < kDepth ? rows - r : kDepth;
      const T* tile = x + r * stride + j;
      const auto count = static_cast<double>(h);
      T from[kTile] = {}, sum[kTile] = {}, squares[kTile] = {};
      for (int64_t i = 0; i < h; ++i)
        for (int64_t l = 0; l < w; ++l) from[l] += tile[i * stride + l];
      for (int64_t l = 0; l < w; ++l) from[l] /= static_cast<T>(h);
      for (int64_t i = 0; i < h; ++i) {
        for (int64_t l = 0; l < w; ++l) {
          const T d = tile[i * stride + l] - from[l];
          sum[l] += d;
          squares[l] += d * d;
        }
      }
      for (int64_t l = 0; l < w; ++l) {
        if (sizeof(T) < sizeof(double) && !is_in_range(squares[l], h)) {
          add_moments_in_double(acc[j + l], tile + l, stride, h);
          continue;
        }
        const auto off = static_cast<double>(sum[l]);
        const double remainder = from[l] - from[l] == T(0) ? off / count : 0;
        join(acc[j + l], static_cast<double>(from[l]) + remainder,
             static_cast<double>(squares[l]) - off * remainder, count);
      }
    }
  }
}

void moments_merge(void* acc_, const void* other_, int64_t n) {
  auto* acc = static_cast<Moments*>(acc_);
  const auto* other = static_cast<const Moments*>(other_);
  for (int64_t j = 0; j < n; ++j) join(acc[j], other[j].mean, other[j].squares, other[j].count);
}

void moments_identity(void* acc, int64_t n) {
  for (int64_t j = 0; j < n; ++j) static_cast<Moments*>(acc)[j] = {0, 0, 0};
}

// Returns a finite reference for exp(x - from): an infinity or NaN would make all elements NaN.
template <class T>
inline T origin(T largest) {
  return largest - largest == T(0) ? largest : T(0);
}

inline void join(LogSumExp& a, double largest, double sum) {
  const double both = Max::apply(a.largest, largest);
  const double from = origin(both);
  // Skips a side without elements: 0 times an overflowing exp() would be NaN.
  const auto scaled = [&](double s, double at) {
    return s == 0 ? 0 : s * ::exp(origin(at) - from);
  };
  a.sum = scaled(a.sum, a.largest) + scaled(sum, largest);
  a.largest = both;
}

template <class T>
void exponents_run(void* acc_, const void* x_, int64_t n) {
  auto& acc = *static_cast<LogSumExp*>(acc_);
  const auto* x = static_cast<const T*>(x_);
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = n - i < kBlock ? n - i : kBlock;
    T largest = Max::identity<T>();
    run<Max, AsIs<T>, T>(&largest, x + i, m);
    const T from = origin(largest);
    T lane[kLanes] = {};
    int64_t k = 0;
    for (; k + kLanes <= m; k += kLanes) {
#pragma omp simd
      for (int64_t l = 0; l < kLanes; ++l) lane[l] += m::exp(x[i + k + l] - from);
    }
    for (int64_t l = 0; l < m - k; ++l) lane[l] += m::exp(x[i + k + l] - from);
    double sum = 0;
    run<Sum, AsIs<T>, double>(&sum, lane, kLanes);
    join(acc, static_cast<double>(largest), sum);
  }
}

template <class T>
void exponents_columns(void* acc_, const void* x_, int64_t stride, int64_t rows, int64_t n) {
  auto* acc = static_cast<LogSumExp*>(acc_);
  const auto* x = static_cast<const T*>(x_);
  for (int64_t j = 0; j < n; j += kTile) {
    const int64_t w = n - j < kTile ? n - j : kTile;
    for (int64_t r = 0; r < rows; r += kDepth) {
      const int64_t h = rows - r < kDepth ? rows - r : kDepth;
      const T* tile = x + r * stride + j;
      T largest[kTile], from[kTile], sum[kTile] = {};
      for (int64_t l = 0; l < w; ++l) largest[l] = tile[l];
      for (int64_t i = 1; i < h; ++i)
        for (int64_t l = 0; l < w; ++l) largest[l] = Max::apply(largest[l], tile[i * stride + l]);
      for (int64_t l = 0; l < w; ++l) from[l] = origin(largest[l]);
      for (int64_t i = 0; i < h; ++i) {
#pragma omp simd
        for (int64_t l = 0; l < w; ++l) sum[l] += m::exp(tile[i * stride + l] - from[l]);
      }
      for (int64_t l = 0; l < w; ++l)
        join(acc[j + l], static_cast<double>(largest[l]), static_cast<double>(sum[l]));
    }
  }
}

void exponents_merge(void* acc_, const void* other_, int64_t n) {
  auto* acc = static_cast<LogSumExp*>(acc_);
  const auto* other = static_cast<const LogSumExp*>(other_);
  for (int64_t j = 0; j < n; ++j) join(acc[j], other[j].largest, other[j].sum);
}

void exponents_identity(void* acc, int64_t n) {
  constexpr double kIdentity = Max::identity<double>();
  for (int64_t j = 0; j < n; ++j) static_cast<LogSumExp*>(acc)[j] = {kIdentity, 0};
}

template <class T>
void fill(FoldTable& table) {
  constexpr DType dtype = dtype_of<T>::value;
  table.at(FoldOp::kMoments, dtype) = {DType::kFloat64,    sizeof(Moments), moments_run<T>,
                                       moments_columns<T>, moments_merge,   moments_identity};
  table.at(FoldOp::kLogSumExp, dtype) = {DType::kFloat64,  sizeof(LogSumExp),
                                         exponents_run<T>, exponents_columns<T>,
                                         exponents_merge,  exponents_identity};
}

FoldTable make() {
  FoldTable table{};
  fill<float>(table);
  fill<double>(table);
  return table;
}

}  // namespace

const FoldTable& moment_loops() {
  static const FoldTable table = make();
  return table;
}

}  // namespace uh::UH_ISA
