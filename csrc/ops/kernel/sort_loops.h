// The scan of a selection: looking through a line for elements better than those kept so far.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "ops/kernel/per_isa.h"

namespace uh {

struct SortLoops {
  static constexpr int64_t kBlock = 16;
  // The first of the blocks of kBlock elements, from element `from` on, in which some key (see
  // sort_keys.h) is smaller than `threshold`; n when there is none. The last block may be short.
  using Better = int64_t (*)(const void* line, int64_t from, int64_t n, uint64_t threshold,
                             bool descending);
  Better better[kDTypeCount];
};

UH_PER_ISA(SortLoops, sort_loops)

}  // namespace uh
