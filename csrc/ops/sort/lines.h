// Sorting and selecting within one contiguous line of elements.
//
// What: keys (kernel/sort_keys.h) are sorted together with their places: by digits, least
// significant first, or by comparison where lines are short. Both are stable in both directions.
#pragma once

#include <vector>

#include "base/dtype.h"

namespace uh {

// Memory that one thread uses again for every line.
using SortScratch = std::vector<uint64_t>;

// values[i] = line[index[i]], in order. `values` may be null when only the places are wanted.
void sort_line(DType dtype, void* values, int64_t* index, const void* line, int64_t n,
               bool descending, SortScratch& scratch);

// The same for the first k only: the k smallest, or with `descending` the k largest.
void select_line(DType dtype, void* values, int64_t* index, const void* line, int64_t n, int64_t k,
                 bool descending, SortScratch& scratch);

}  // namespace uh
