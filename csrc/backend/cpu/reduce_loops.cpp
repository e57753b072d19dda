// -O3 unrolls the 64 lanes, so that they stay in registers (measured: a third faster in cache).
#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif

#include "backend/cpu/fold.h"

namespace uh::UH_ISA {
namespace {

template <class Op, class T, class Acc>
Fold fold() {
  return make_fold<Op, AsIs<T>, Acc>();
}

// Finds the best value of a chunk with the fast fold, and its index only if it is a new best.
template <class Op, class T>
void best_run(void* best_, int64_t* index, const void* x_, int64_t n, int64_t base) {
  constexpr int64_t kChunk = 4096;
  const auto* x = static_cast<const T*>(x_);
  T best = *static_cast<T*>(best_);
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t m = n - i < kChunk ? n - i : kChunk;
    T value = Op::template identity<T>();
    run<Op, AsIs<T>, T>(&value, x + i, m);
    const bool first = *index < 0;
    if (!first && !(Op::better(value, best) | ((value != value) & (best == best)))) continue;
    best = value;
    int64_t j = 0;
    for (; j + kLanes <= m; j += kLanes) {
      int match = 0;
      for (int64_t l = 0; l < kLanes; ++l)
        match |= (x[i + j + l] == value) | (x[i + j + l] != x[i + j + l]);
      if (match) break;
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

// The sum of complex numbers: of their parts, which alternate, as compilers do not vectorise
// structs.
template <class R>
void parts_run(void* acc_, const void* x_, int64_t n) {
  auto* const acc = static_cast<double*>(acc_);
  const auto* x = static_cast<const R*>(x_);
  for (int64_t left = 2 * n; left > 0;) {
    const int64_t count = left < kBlock ? left : kBlock;
    R lane[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
      for (int64_t l = 0; l < kLanes; ++l) lane[l] += x[i + l];
    for (int64_t l = 0; i < count; ++i, ++l) lane[l] += x[i];
    double wide[kLanes / 2];
    for (int64_t l = 0; l < kLanes / 2; ++l)
      wide[l] = static_cast<double>(lane[l]) + static_cast<double>(lane[l + kLanes / 2]);
    for (int64_t half = kLanes / 4; half > 1; half /= 2)
      for (int64_t l = 0; l < half; ++l) wide[l] += wide[l + half];
    acc[0] += wide[0];
    acc[1] += wide[1];
    x += count;
    left -= count;
  }
}
template <class R>
void parts_columns(void* acc, const void* x, int64_t stride, int64_t rows, int64_t n) {
  columns<Sum, AsIs<R>, double>(acc, x, 2 * stride, rows, 2 * n);
}
template <class R>
Fold complex_sum() {
  return {DType::kComplex128, sizeof(Complex128),     parts_run<R>,
          parts_columns<R>,   merge<Sum, Complex128>, identity<Sum, Complex128>};
}

ReduceLoops make() {
  ReduceLoops loops{};
  const auto entry = [&](FoldOp op, DType dtype) -> Fold& { return loops.at(op, dtype); };
  entry(FoldOp::kSum, DType::kFloat32) = fold<Sum, float, double>();
  entry(FoldOp::kSum, DType::kFloat64) = fold<Sum, double, double>();
  entry(FoldOp::kSum, DType::kComplex64) = complex_sum<float>();
  entry(FoldOp::kSum, DType::kComplex128) = complex_sum<double>();
  entry(FoldOp::kSum, DType::kInt64) = fold<Sum, int64_t, int64_t>();
  entry(FoldOp::kSum, DType::kUInt8) = fold<Sum, uint8_t, int64_t>();  // of bools: 0 and 1
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
  extremes(int8_t{});
  extremes(int16_t{});
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
