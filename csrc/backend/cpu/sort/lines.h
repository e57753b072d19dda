// Sorting and selecting within one contiguous line of elements.
//
// What: keys (backend/cpu/sort_keys.h) are sorted together with their places: by digits, least
// significant first, or by comparison where lines are short. Both are stable in both directions.
#pragma once

#include "tensor/tensor.h"

namespace uh {

// Memory that one thread uses again for every line; a tensor's, so that it is kept for the next
// call.
class SortScratch {
 public:
  // `n` items of any kind; what was there before is gone.
  template <class Item>
  Item* room(int64_t n) {
    const int64_t count = n * static_cast<int64_t>(sizeof(Item) / sizeof(int64_t));
    if (!memory_ || memory_.numel() < count) memory_ = empty(Dims{count}, DType::kInt64);
    return reinterpret_cast<Item*>(memory_.data());
  }

 private:
  Tensor memory_;
};

// values[i] = line[index[i]], in order. `values` may be null when only the places are wanted.
void sort_line(DType dtype, void* values, int64_t* index, const void* line, int64_t n,
               bool descending, SortScratch& scratch);

// The k smallest only, or with `descending` the k largest. Which of equal elements are selected,
// their order, and the order of all if not `in_order` are PyTorch's.
void select_line(DType dtype, void* values, int64_t* index, const void* line, int64_t n, int64_t k,
                 bool descending, bool in_order, SortScratch& scratch);

}  // namespace uh
