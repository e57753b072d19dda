// Lines: the elements of a contiguous tensor along one dimension, for operators that work on one
// dimension at a time (scans, softmax, sorting).
//
// The tensor is read as (outer, n, inner); a line has n elements `inner` apart. With inner == 1
// lines are consecutive rows, otherwise neighbouring lines are adjacent columns.
#pragma once

#include "base/parallel.h"
#include "tensor/tensor.h"

namespace uh {

struct Lines {
  int64_t outer = 1, n = 1, inner = 1;

  Lines(const Tensor& self, int64_t dim) {
    for (int64_t d = 0; d < self.ndim(); ++d) {
      const int64_t size = self.size(d);
      (d < dim ? outer : d == dim ? n : inner) *= size;
    }
  }

  static constexpr int64_t kGrainSize = 1 << 14;  // minimum number of elements per thread
  static constexpr int64_t kColumns = 256;        // maximum number of columns handled together

  int64_t count() const { return outer * inner; }
  // Returns the position of the first element of line i.
  int64_t start(int64_t i) const { return i / inner * n * inner + i % inner; }

  // Calls f(position of the first element) for each line, on several threads.
  template <class F>
  void for_each(const F& f) const {
    if (n == 0) return;
    parallel_for(0, count(), std::max<int64_t>(1, kGrainSize / n), [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) f(start(i));
    });
  }

  // Calls f(start, count) for groups of lines: `count` consecutive rows, or `count` adjacent
  // columns.
  template <class F>
  void for_groups(const F& f) const {
    if (n == 0 || count() == 0) return;
    const int64_t grain = std::max<int64_t>(1, kGrainSize / n);
    if (inner == 1) {
      parallel_for(0, outer, grain, [&](int64_t lo, int64_t hi) { f(lo * n, hi - lo); });
      return;
    }
    const int64_t groups = (inner + kColumns - 1) / kColumns;
    const int64_t width = std::min(inner, kColumns);
    parallel_for(0, outer * groups, std::max<int64_t>(1, grain / width),
                 [&](int64_t lo, int64_t hi) {
                   for (int64_t i = lo; i < hi; ++i) {
                     const int64_t column = i % groups * kColumns;
                     f(i / groups * n * inner + column, std::min(kColumns, inner - column));
                   }
                 });
  }
};

}  // namespace uh
