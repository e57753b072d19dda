// Shared by all reductions: the iteration over the kept dimensions, and the fold itself.
#pragma once

#include <initializer_list>
#include <span>

#include "backend/cpu/reduce_loops.h"
#include "ops/reduce/shapes.h"

namespace uh {

// The dtype that elements are converted to before a fold: one that has loops.
DType sum_compute_dtype(DType dtype);      // float32, float64, int64
DType extreme_compute_dtype(DType dtype);  // uint8, int32, int64, float32, float64
DType extreme_fold_dtype(DType dtype);     // the same plus int8 and int16: what min and max fold in

// A result of a reduction: its destination, and how it is computed from the accumulators: `made`
// writes n values of the fold's accumulator dtype.
struct Folded {
  const Tensor& out;
  void (*made)(void* values, const std::byte* acc, int64_t n,
               double parameter) = nullptr;  // null: the accumulators are the values
  double parameter = 0;
};

// out[...] = fold over the removed dimensions of self; elements are read as `read_as` and computed
// in `compute`. Several results of one fold have the same sizes and strides.
void fold_into(std::span<const Folded> results, const Tensor& self, const ReducedDims& dims,
               const Fold& fold, DType read_as, DType compute);
inline void fold_into(std::initializer_list<Folded> results, const Tensor& self,
                      const ReducedDims& dims, FoldOp op, DType read_as, DType compute) {
  fold_into(std::span(results.begin(), results.size()), self, dims, fold_of(op, compute), read_as,
            compute);
}

// A reduction with a single fold, as declared by its entry (yaml key `fold`).
struct FoldOperator {
  const char* name;  // "nansum"
  FoldOp by;
  const FoldRow& (*mapped)() = nullptr;  // folds of its expression; null: of the elements
  bool divided = false;                  // divides by the number of elements

  // False for max and min, which have no value for zero elements.
  bool has_identity() const { return by == FoldOp::kSum || by == FoldOp::kProd; }
  const Fold& fold(DType compute) const {
    return mapped ? mapped().at(compute) : fold_of(by, compute);
  }
};
std::span<const FoldOperator> fold_operators();                 // generated, sorted by name
const FoldOperator* find_fold_operator(std::string_view name);  // null if unknown

// result[...] = the fold over `dim`.
void run_fold(const FoldOperator& op, const Tensor& self, const std::optional<Dims>& dim,
              const Tensor& result);

// values[...] and indices[...] of the best element along `dim`; `values` may be empty. Both must be
// contiguous with self's sizes without `dim` (or with size 1 there).
void best_into(const Tensor& values, const Tensor& indices, const Tensor& self, int64_t dim,
               bool max);
// The index of the best element of a contiguous, non-empty tensor, read as one row.
void best_in_row(const Tensor& index, const Tensor& self, bool max);

}  // namespace uh
