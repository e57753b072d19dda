// The inner loops of writes to the positions that an index selects: one row of the iteration.
#pragma once

#include <type_traits>

#include "backend/cpu/index_loops.h"

namespace uh {

// The element of the table for position j is at j * table_step + index[j * index_step] * along, the
// value written to it at j * dense_step (0: one value for all).
struct ScatterLoops {
  using Assign = void (*)(void* table, int64_t table_step, const void* dense, int64_t dense_step,
                          const IndexRow& row);
  Assign assign[CopyLoops::kSizeClasses];
  // element = element op value. For a sum, the values are multiplied by *scale, a SumOf<T>; null:
  // not multiplied.
  using Fold = void (*)(void* table, int64_t table_step, const void* dense, int64_t dense_step,
                        const IndexRow& row, const void* scale);
  Fold sum[kDTypeCount];
  Fold prod[kDTypeCount];
  Fold max[kDTypeCount];  // null for complex dtypes, as in min
  Fold min[kDTypeCount];
};

// The type in which elements are summed: integers wrap, 16-bit floats are rounded after each step.
template <class T>
using SumOf = std::conditional_t<
    std::is_same_v<T, bool>, bool,
    std::conditional_t<
        std::is_integral_v<T>, uint64_t,
        std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>>>;

UH_PER_ISA(ScatterLoops, scatter_loops)

}  // namespace uh
