// Sorting and selection within a contiguous line.
//
// Keys (backend/cpu/sort_keys.h) are sorted with their indices: by radix sort, least significant
// digit first, or by comparison for short lines. Both are stable in both directions.
#pragma once

#include "tensor/tensor.h"

namespace uh {

// A thread's scratch memory, reused for every line; it is a tensor's, so that the caching allocator
// keeps it for the next call.
class SortScratch {
 public:
  // Returns memory for `n` items, discarding the previous content.
  template <class Item>
  Item* room(int64_t n) {
    const int64_t count = n * static_cast<int64_t>(sizeof(Item) / sizeof(int64_t));
    if (!memory_ || memory_.numel() < count) memory_ = empty(Dims{count}, DType::kInt64);
    return reinterpret_cast<Item*>(memory_.data());
  }

 private:
  Tensor memory_;
};

// Sorts: values[i] = line[index[i]]. `values` may be null if only indices are needed.
void sort_line(DType dtype, void* values, int64_t* index, const void* line, int64_t n,
               bool descending, SortScratch& scratch);

// Selects the k smallest, or with `descending` the k largest. The choice and order of equal
// elements, and the order of all if not `in_order`, are PyTorch's.
void select_line(DType dtype, void* values, int64_t* index, const void* line, int64_t n, int64_t k,
                 bool descending, bool in_order, SortScratch& scratch);

}  // namespace uh
