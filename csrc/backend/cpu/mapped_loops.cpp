// Folds of mapped elements: counts of non-NaN elements, and the sums of norms.
#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif

#include "backend/cpu/fold.h"

namespace uh::UH_ISA {
namespace {

template <class T>
struct IsNumber {
  using Element = T;
  using Lane = T;  // a block has 4096 elements, which float counts exactly
  static Lane apply(T x) { return x == x ? T(1) : T(0); }
};

template <class T>
struct Absolute {
  using Element = T;
  using Lane = T;
  static Lane apply(T x) { return x < T(0) ? -x : x + T(0); }  // turns -0 into 0
};

// In double: the square of a large float overflows.
template <class T>
struct Square {
  using Element = T;
  using Lane = double;
  static Lane apply(T x) { return static_cast<double>(x) * static_cast<double>(x); }
};

template <class T>
void fill(FoldTable& table) {
  constexpr DType dtype = dtype_of<T>::value;
  table.at(FoldOp::kNumbers, dtype) = make_fold<Sum, IsNumber<T>, double>();
  table.at(FoldOp::kAbsSum, dtype) = make_fold<Sum, Absolute<T>, double>();
  table.at(FoldOp::kSquareSum, dtype) = make_fold<Sum, Square<T>, double>();
  table.at(FoldOp::kAbsMin, dtype) = make_fold<Min, Absolute<T>, double>();
  table.at(FoldOp::kAbsMax, dtype) = make_fold<Max, Absolute<T>, double>();
}

FoldTable make() {
  FoldTable table{};
  fill<float>(table);
  fill<double>(table);
  return table;
}

}  // namespace

const FoldTable& mapped_loops() {
  static const FoldTable table = make();
  return table;
}

}  // namespace uh::UH_ISA
