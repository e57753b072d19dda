// The position of a value in an ascending sequence.
//
// What: the comparisons are PyTorch's, written so that NaN, which compares with nothing, is put at
// the end. The loop has no branch that depends on values: the hardware cannot guess them.
#pragma once

#include <cstdint>

namespace uh {

// The first i for which at(i) >= value (after equal ones with `right`: at(i) > value).
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
