// Binary search in an ascending sequence.
//
// Uses PyTorch's comparisons, in a form that sorts NaN last. The loop has no branch on values,
// which the CPU could not predict.
#pragma once

#include <cstdint>

namespace uh {

// Returns the first i with at(i) >= value, or with `right` the first with at(i) > value.
template <class T, class At>
int64_t insertion_point(int64_t n, T value, bool right, const At& at) {
  int64_t first = 0;
  while (n > 0) {
    const int64_t half = n / 2;
    const T middle = at(first + half);
    const bool before = right ? !(middle > value) : !(middle >= value);
    first = before ? first + half + 1 : first;
    n = before ? n - half - 1 : half;
  }
  return first;
}

}  // namespace uh
