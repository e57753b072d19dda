// The scans of a selection: a bound for the best elements, then the elements within it.
#pragma once

#include <cstdint>

#include "backend/cpu/per_isa.h"
#include "base/dtype.h"

namespace uh {

struct SortLoops {
  static constexpr int64_t kBlock = 16;
  // Returns the first of the blocks of kBlock elements, from element `from` on, in which a key (see
  // sort_keys.h) is smaller than `threshold`, or n. The last block may be short.
  using Better = int64_t (*)(const void* line, int64_t from, int64_t n, uint64_t threshold,
                             bool descending);
  Better better[kDTypeCount];
  // keys[j] = the smallest key among elements j, j + m, j + 2m ...; n >= m.
  using Minima = void (*)(void* keys, const void* line, int64_t n, int64_t m, bool descending);
  Minima minima[kDTypeCount];
};

UH_PER_ISA(SortLoops, sort_loops)

}  // namespace uh
