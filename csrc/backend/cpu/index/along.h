// Iteration over an index tensor together with the tensor it indexes, for gather, scatter,
// index_add and similar operators.
//
// Each position of the index has an element of the dense side (which is read or written) and a line
// of the table along `dim`, from which the index selects. The table's stride in that dimension is
// 0, so all three are operands of an ordinary Geometry, whichever dimension is innermost.
// Invariant: indices are checked before an element is accessed.
#pragma once

#include "backend/cpu/index_loops.h"
#include "base/parallel.h"
#include "ops/geometry.h"
#include "ops/index_checks.h"
#include "tensor/tensor.h"

namespace uh {

struct IndexWalk {
  Tensor index;                      // int64
  Dims sizes;                        // of the iteration: at least one dimension
  Dims index_strides, dense, table;  // strides of the index, the dense side, the table (0 at dim)
  int64_t dim = 0;                   // the user's dim: for messages and for splitting
  int64_t along = 0;                 // the table's stride in that dimension
  int64_t size = 0;                  // the table's size in it
  int64_t span = 1;                  // dimensions of the iteration, from dim on, that the index has
  std::string_view unchecked = "";   // the operator that checks indices while it writes rows
};

// For an index of self's rank (gather, scatter). `dense` also has the index's rank.
IndexWalk walk_places(const Tensor& self, int64_t dim, const Tensor& index, IntSpan dense);
// For a 1-d index of slices of self (index_select, index_add). `dense` has the strides of a tensor
// with self's sizes, but index.numel() at dim.
IndexWalk walk_slices(const Tensor& self, int64_t dim, const Tensor& index, IntSpan dense);

// Throws if an index is not in [0, size).
void check_places(const IndexWalk& walk, std::string_view op, ErrorKind kind);
[[noreturn]] void fail_place(int64_t index, const IndexWalk& walk, std::string_view op,
                             ErrorKind kind);

// Throws RuntimeError if an index of one row is not in [0, size).
void check_row(const IndexRow& row, const IndexWalk& walk);

// Reads the indexed elements into `dst`, whose strides are walk.dense.
void gather_into(std::byte* dst, const Tensor& self, const IndexWalk& walk, std::string_view op,
                 ErrorKind kind);

// Calls f(row, dense offset, table offset, dense step, table step) for rows that cover the
// iteration. No two threads access the same element of the table, and positions of one element come
// in order of `dim`.
template <class F>
void for_written_rows(const IndexWalk& walk, const F& f) {
  size_t split = walk.sizes.size();
  for (size_t d = 0; d < walk.sizes.size(); ++d) {
    const int64_t from_dim = static_cast<int64_t>(d) - walk.dim;
    const bool may = (from_dim < 0 || from_dim >= walk.span) && walk.sizes[d] > 1;
    if (may && (split == walk.sizes.size() || walk.sizes[d] > walk.sizes[split])) split = d;
  }
  const int64_t n = numel_of(walk.sizes);
  if (n == 0) return;
  const auto part = [&](int64_t lo, int64_t hi) {
    Dims sizes = walk.sizes;
    int64_t dense = 0, table = 0, first = 0;
    if (split < sizes.size()) {
      sizes[split] = hi - lo;
      dense = lo * walk.dense[split];
      table = lo * walk.table[split];
      first = lo * walk.index_strides[split];
    }
    const auto g = make_geometry<3>(
        sizes, {IntSpan(walk.dense), IntSpan(walk.table), IntSpan(walk.index_strides)});
    const auto* index = walk.index.data_as<int64_t>() + first;
    for_rows(g, 0, g.rows(), [&](const auto& at) {
      const IndexRow row{index + at[2], g.row_stride(2), walk.along, walk.size, g.row()};
      if (!walk.unchecked.empty()) check_row(row, walk);
      f(row, dense + at[0], table + at[1], g.row_stride(0), g.row_stride(1));
    });
  };
  if (split == walk.sizes.size()) return part(0, 1);
  const int64_t lines = walk.sizes[split];
  parallel_for(0, lines, std::max<int64_t>(1, 32768 * lines / n), part);
}

}  // namespace uh
