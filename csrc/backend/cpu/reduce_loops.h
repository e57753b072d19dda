// The inner loops of reductions: fold a run of elements, or fold rows into columns.
//
// A Fold has one operation and one compute dtype; other dtypes are converted first.
// Invariant: the order of additions depends only on n, not on the instruction set (64 lanes, added
// pairwise) or threads; float32 sums are combined in double, so 10^7 elements keep 7 digits.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"
#include "base/dtype.h"

namespace uh {

enum class FoldOp {
  kSum,
  kProd,
  kMin,
  kMax,
  kNumbers,    // number of elements that are not NaN
  kAbsSum,     // of |x|
  kSquareSum,  // of x * x
  kAbsMin,     // of |x|
  kAbsMax,     // of |x|
  kMoments,    // Moments
  kLogSumExp,  // LogSumExp
  kCount
};

// The mean, the sum of squared distances from it, and the number of elements.
struct Moments {
  double mean, squares, count;
};
// The largest element and the sum of exp(x - largest).
struct LogSumExp {
  double largest, sum;
};

struct Fold {
  DType accumulator;  // of acc: float64 or complex128 for inexact sums and products
  int64_t bytes;      // of one acc; larger than the dtype for a struct of doubles
  // acc = acc op x[0] op ... op x[n-1]
  void (*run)(void* acc, const void* x, int64_t n);
  // acc[j] = acc[j] op x[j] op x[stride + j] op ... for j < n, over `rows` rows
  void (*columns)(void* acc, const void* x, int64_t stride, int64_t rows, int64_t n);
  // acc[j] = acc[j] op other[j]
  void (*merge)(void* acc, const void* other, int64_t n);
  // acc[j] = the identity
  void (*identity)(void* acc, int64_t n);
};

// Keeps the best value and its index: the first of equal ones, and NaN before everything.
struct BestFold {
  // Element i of x has index base + i. *index is -1 if there is no value yet.
  void (*run)(void* best, int64_t* index, const void* x, int64_t n, int64_t base);
  // The same for n columns over `rows` rows; row r has index base + r.
  void (*columns)(void* best, int64_t* index, const void* x, int64_t stride, int64_t rows,
                  int64_t n, int64_t base);
};

// [op][compute dtype]; run is null if another table has it, or elements must be converted.
struct FoldTable {
  Fold fold[static_cast<int>(FoldOp::kCount)][kDTypeCount];

  Fold& at(FoldOp op, DType dtype) { return fold[static_cast<int>(op)][static_cast<int>(dtype)]; }
  const Fold& at(FoldOp op, DType dtype) const {
    return fold[static_cast<int>(op)][static_cast<int>(dtype)];
  }
};

// The folds of one expression, by compute dtype.
struct FoldRow {
  Fold fold[kDTypeCount];

  Fold& at(DType dtype) { return fold[static_cast<int>(dtype)]; }
  const Fold& at(DType dtype) const { return fold[static_cast<int>(dtype)]; }
};

struct ReduceLoops : FoldTable {
  BestFold best[2][kDTypeCount];  // [0 min, 1 max][compute dtype]
};

UH_PER_ISA(ReduceLoops, reduce_loops)  // sum, prod, min, max
UH_PER_ISA(FoldTable, mapped_loops)    // of mapped elements
UH_PER_ISA(FoldTable, moment_loops)    // with several numbers as accumulator

inline const Fold& fold_of(FoldOp op, DType compute) {
  if (op <= FoldOp::kMax) return reduce_loops().at(op, compute);
  return op < FoldOp::kMoments ? mapped_loops().at(op, compute) : moment_loops().at(op, compute);
}

}  // namespace uh
