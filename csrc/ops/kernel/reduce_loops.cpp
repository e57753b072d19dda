// -O3 unrolls the 64 lanes: they then stay in registers (measured: a third faster in cache).
#pragma GCC optimize("O3")

#include "ops/kernel/reduce_loops.h"

#include <cstring>
#include <limits>
#include <type_traits>

namespace uh::UH_ISA {
namespace {

// Signed overflow is undefined in C++ and wraps in PyTorch: integers are added as unsigned.
template <class T>
struct Wrapping {
  using type = T;
};
template <>
struct Wrapping<int64_t> {
  using type = uint64_t;
};

struct Sum {
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  template <class T>
  static T apply(T a, T b) {
    using W = typename Wrapping<T>::type;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  }
};

struct Prod {
  template <class T>
  static constexpr T identity() {
    return T(1);
  }
  template <class T>
  static T apply(T a, T b) {
    using W = typename Wrapping<T>::type;
    return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  }
};

// A NaN, once taken, stays: nothing compares greater. `x != x` is false for integers.
struct Max {
  template <class T>
  static constexpr T identity() {
    return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                       : std::numeric_limits<T>::lowest();
  }
  template <class T>
  static bool better(T x, T best) {
    return x > best;
  }
  template <class T>
  static T apply(T a, T b) {
    return (b > a) | (b != b) ? b : a;
  }
};

struct Min {
  template <class T>
  static constexpr T identity() {
    return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                       : std::numeric_limits<T>::max();
  }
  template <class T>
  static bool better(T x, T best) {
    return x < best;
  }
  template <class T>
  static T apply(T a, T b) {
    return (b < a) | (b != b) ? b : a;
  }
};

constexpr int64_t kLanes = 64;
constexpr int64_t kBlock = 4096;  // elements that meet in T before they go to the accumulator

// x[0] op ... op x[n-1] for n >= kLanes; the rest that fills no lanes is padded with the identity.
template <class Op, class T, class Acc>
inline Acc fold_block(const T* x, int64_t n) {
  T lane[kLanes];
  std::memcpy(lane, x, sizeof lane);
  int64_t i = kLanes;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lane[l] = Op::apply(lane[l], x[i + l]);
  }
  if (i < n) {
    T rest[kLanes];
    for (int64_t l = 0; l < kLanes; ++l) rest[l] = Op::template identity<T>();
    std::memcpy(rest, x + i, static_cast<size_t>(n - i) * sizeof(T));
    for (int64_t l = 0; l < kLanes; ++l) lane[l] = Op::apply(lane[l], rest[l]);
  }
  Acc wide[kLanes / 2];
  for (int64_t l = 0; l < kLanes / 2; ++l) {
    wide[l] =
        Op::template apply<Acc>(static_cast<Acc>(lane[l]), static_cast<Acc>(lane[l + kLanes / 2]));
  }
  for (int64_t w = kLanes / 4; w > 0; w /= 2) {
    for (int64_t l = 0; l < w; ++l) wide[l] = Op::template apply<Acc>(wide[l], wide[l + w]);
  }
  return wide[0];
}

template <class Op, class T, class Acc>
void run(void* acc_, const void* x_, int64_t n) {
  auto acc = *static_cast<Acc*>(acc_);
  const auto* x = static_cast<const T*>(x_);
  int64_t i = 0;
  while (n - i >= kLanes) {
    const int64_t m = n - i < kBlock + kLanes ? n - i : kBlock;  // leaves no short rest
    acc = Op::template apply<Acc>(acc, fold_block<Op, T, Acc>(x + i, m));
    i += m;
  }
  for (; i < n; ++i) acc = Op::template apply<Acc>(acc, static_cast<Acc>(x[i]));
  *static_cast<Acc*>(acc_) = acc;
}

template <class Op, class T, class Acc>
void columns(void* acc_, const void* x_, int64_t stride, int64_t rows, int64_t n) {
  auto* __restrict acc = static_cast<Acc*>(acc_);
  const auto* __restrict x = static_cast<const T*>(x_);
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8, x += 8 * stride) {
    const T *x0 = x, *x1 = x + stride, *x2 = x + 2 * stride, *x3 = x + 3 * stride;
    const T *x4 = x + 4 * stride, *x5 = x + 5 * stride, *x6 = x + 6 * stride, *x7 = x + 7 * stride;
    for (int64_t j = 0; j < n; ++j) {
      const T a = Op::apply(Op::apply(x0[j], x1[j]), Op::apply(x2[j], x3[j]));
      const T b = Op::apply(Op::apply(x4[j], x5[j]), Op::apply(x6[j], x7[j]));
      acc[j] = Op::template apply<Acc>(acc[j], static_cast<Acc>(Op::apply(a, b)));
    }
  }
  for (; r < rows; ++r, x += stride) {
    for (int64_t j = 0; j < n; ++j)
      acc[j] = Op::template apply<Acc>(acc[j], static_cast<Acc>(x[j]));
  }
}

template <class Op, class Acc>
void merge(void* acc_, const void* other_, int64_t n) {
  auto* acc = static_cast<Acc*>(acc_);
  const auto* other = static_cast<const Acc*>(other_);
  for (int64_t j = 0; j < n; ++j) acc[j] = Op::template apply<Acc>(acc[j], other[j]);
}

template <class Op, class Acc>
void identity(void* acc_, int64_t n) {
  auto* acc = static_cast<Acc*>(acc_);
  for (int64_t j = 0; j < n; ++j) acc[j] = Op::template identity<Acc>();
}

template <class Op, class T, class Acc>
Fold fold() {
  return {dtype_of<Acc>::value, run<Op, T, Acc>, columns<Op, T, Acc>, merge<Op, Acc>,
          identity<Op, Acc>};
}

// First finds the best value of a chunk with the fast fold, then looks for it only if it is news.
template <class Op, class T>
void best_run(void* best_, int64_t* index, const void* x_, int64_t n, int64_t base) {
  constexpr int64_t kChunk = 4096;
  const auto* x = static_cast<const T*>(x_);
  T best = *static_cast<T*>(best_);
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t m = n - i < kChunk ? n - i : kChunk;
    T value = Op::template identity<T>();
    run<Op, T, T>(&value, x + i, m);
    const bool first = *index < 0;
    if (!first && !(Op::better(value, best) | ((value != value) & (best == best)))) continue;
    best = value;
    int64_t j = 0;
    for (; j + kLanes <= m; j += kLanes) {
      int found = 0;
      for (int64_t l = 0; l < kLanes; ++l)
        found |= (x[i + j + l] == value) | (x[i + j + l] != x[i + j + l]);
      if (found) break;
    }
    while (!((x[i + j] == value) | (x[i + j] != x[i + j]))) ++j;
    *index = base + i + j;
  }
  *static_cast<T*>(best_) = best;
}

template <class Op, class T>
void best_columns(void* best_, int64_t* __restrict index, const void* x_, int64_t stride,
                  int64_t rows, int64_t n, int64_t base) {
  auto* __restrict best = static_cast<T*>(best_);
  const auto* __restrict x = static_cast<const T*>(x_);
  if (rows > 0 && n > 0 && index[0] < 0) {
    for (int64_t j = 0; j < n; ++j) {
      best[j] = x[j];
      index[j] = base;
    }
  }
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    for (int64_t j = 0; j < n; ++j) {
      const bool take = Op::better(x[j], best[j]) | ((x[j] != x[j]) & (best[j] == best[j]));
      best[j] = take ? x[j] : best[j];
      index[j] = take ? base + r : index[j];
    }
  }
}

template <class Op, class T>
BestFold best_fold() {
  return {best_run<Op, T>, best_columns<Op, T>};
}

ReduceLoops make() {
  ReduceLoops loops{};
  const auto entry = [&](FoldOp op, DType dtype) -> Fold& {
    return loops.fold[static_cast<int>(op)][static_cast<int>(dtype)];
  };
  entry(FoldOp::kSum, DType::kFloat32) = fold<Sum, float, double>();
  entry(FoldOp::kSum, DType::kFloat64) = fold<Sum, double, double>();
  entry(FoldOp::kSum, DType::kComplex64) = fold<Sum, Complex64, Complex128>();
  entry(FoldOp::kSum, DType::kComplex128) = fold<Sum, Complex128, Complex128>();
  entry(FoldOp::kSum, DType::kInt64) = fold<Sum, int64_t, int64_t>();
  entry(FoldOp::kProd, DType::kFloat32) = fold<Prod, float, double>();
  entry(FoldOp::kProd, DType::kFloat64) = fold<Prod, double, double>();
  entry(FoldOp::kProd, DType::kComplex64) = fold<Prod, Complex64, Complex128>();
  entry(FoldOp::kProd, DType::kComplex128) = fold<Prod, Complex128, Complex128>();
  entry(FoldOp::kProd, DType::kInt64) = fold<Prod, int64_t, int64_t>();
  const auto extremes = [&]<class T>(T) {
    constexpr DType dtype = dtype_of<T>::value;
    entry(FoldOp::kMin, dtype) = fold<Min, T, T>();
    entry(FoldOp::kMax, dtype) = fold<Max, T, T>();
    loops.best[0][static_cast<int>(dtype)] = best_fold<Min, T>();
    loops.best[1][static_cast<int>(dtype)] = best_fold<Max, T>();
  };
  extremes(uint8_t{});
  extremes(int32_t{});
  extremes(int64_t{});
  extremes(float{});
  extremes(double{});
  return loops;
}

}  // namespace

const ReduceLoops& reduce_loops() {
  static const ReduceLoops loops = make();
  return loops;
}

}  // namespace uh::UH_ISA
