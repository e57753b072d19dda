// The inner loops of reductions: fold a run of elements, or fold rows into columns.
//
// What: a Fold belongs to one operation and one compute dtype; other dtypes are converted first.
// Invariant: the order of additions depends on n only, never on the instruction set (64 lanes,
// added up pairwise) or on threads; float32 sums meet in double, so 10^7 elements keep 7 digits.
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
  kNumbers,    // how many elements are not NaN
  kAbsSum,     // of |x|
  kSquareSum,  // of x * x
  kAbsMin,     // of |x|
  kAbsMax,     // of |x|
  kMoments,    // Moments
  kLogSumExp,  // LogSumExp
  kCount
};

// The mean, the sum of squared distances from it, and how many elements they are of.
struct Moments {
  double mean, squares, count;
};
// The largest element and the sum of exp(x - largest).
struct LogSumExp {
  double largest, sum;
};

struct Fold {
  DType accumulator;  // of acc: float64, complex128 for floats, complex that are summed, multiplied
  int64_t bytes;      // of one acc; a struct of doubles where it is more than the dtype's
  // acc = acc op x[0] op ... op x[n-1]
  void (*run)(void* acc, const void* x, int64_t n);
  // acc[j] = acc[j] op x[j] op x[stride + j] op ... for j < n, over `rows` rows
  void (*columns)(void* acc, const void* x, int64_t stride, int64_t rows, int64_t n);
  // acc[j] = acc[j] op other[j]
  void (*merge)(void* acc, const void* other, int64_t n);
  // acc[j] = the value that changes nothing
  void (*identity)(void* acc, int64_t n);
};

// Keeps the best value and where it was: the first of equal ones, and NaN before everything.
struct BestFold {
  // Element i of x has index base + i. *index is -1 when there is no value yet.
  void (*run)(void* best, int64_t* index, const void* x, int64_t n, int64_t base);
  // The same for n columns over `rows` rows; row r has index base + r.
  void (*columns)(void* best, int64_t* index, const void* x, int64_t stride, int64_t rows,
                  int64_t n, int64_t base);
};

// [op][compute dtype]; run is null where another table has it, or the elements must be converted.
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
UH_PER_ISA(FoldTable, mapped_loops)    // those of mapped elements
UH_PER_ISA(FoldTable, moment_loops)    // those with an accumulator of several numbers

inline const Fold& fold_of(FoldOp op, DType compute) {
  if (op <= FoldOp::kMax) return reduce_loops().at(op, compute);
  return op < FoldOp::kMoments ? mapped_loops().at(op, compute) : moment_loops().at(op, compute);
}

}  // namespace uh
