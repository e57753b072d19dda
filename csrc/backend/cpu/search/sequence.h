// Binary search in an ascending sequence.
//
// Uses PyTorch's comparisons, in a form that sorts NaN last, and reads the same elements, so that
// even the result for a sequence that is not sorted is PyTorch's. Values are compared without a
// branch, which the CPU could not predict: it overlaps the searches of consecutive values.
#pragma once

#include <cstdint>

namespace uh {

// Returns the first i for which `before(i)` is false; all that are true precede it.
template <class Before>
int64_t partition_point(int64_t n, const Before& before) {
  int64_t first = 0;
  while (n > 0) {
    const int64_t half = n / 2, right = before(first + half);
    first += (half + 1) & -right;
    n = half - (right & ~n & 1);  // right of an even number's middle, there is one element less
  }
  return first;
}

// Returns the first i with at(i) >= value, or with `right` the first with at(i) > value.
template <class T, class At>
int64_t insertion_point(int64_t n, T value, bool right, const At& at) {
  if (right) return partition_point(n, [&](int64_t i) { return !(at(i) > value); });
  return partition_point(n, [&](int64_t i) { return !(at(i) >= value); });
}

}  // namespace uh
