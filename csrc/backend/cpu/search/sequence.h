// Binary search in an ascending sequence.
//
// Uses PyTorch's comparisons, in a form that sorts NaN last, and reads the same elements, so that
// even the result for a sequence that is not sorted is PyTorch's.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace uh {

// Values searched for together. A search waits for every element that it reads, so the CPU
// overlaps several: they take their steps in turn, without a branch that it could not predict.
inline constexpr int64_t kSearches = 8;

// first[l] = the first i with at(l, i) >= values[l], or with `right` the first with
// at(l, i) > values[l], in a sequence of n elements, n > 0.
template <class T, class At>
void insertion_points(int64_t* first, int64_t n, const T* values, bool right, const At& at) {
  int64_t length[kSearches];
  std::fill_n(first, kSearches, 0);
  std::fill_n(length, kSearches, n);
  const auto before = [&](int64_t l, int64_t i) -> int64_t {
    const T element = at(l, i);
    return right ? !(element > values[l]) : !(element >= values[l]);
  };
  // The number of steps in which no search can have ended; after them, it has at most one left.
  for (int steps = std::bit_width(static_cast<uint64_t>(n) + 1) - 1; steps > 0; --steps) {
#pragma GCC unroll 8
    for (int64_t l = 0; l < kSearches; ++l) {
      const int64_t half = length[l] / 2, above = before(l, first[l] + half);
      first[l] += (half + 1) & -above;
      length[l] = half - (above & ~length[l] & 1);  // above an even number's middle: one less
    }
  }
  for (int64_t l = 0; l < kSearches; ++l)
    first[l] += (length[l] > 0) & before(l, std::min(first[l], n - 1));
}

// deliver(i, the insertion point of value(i)) for lo <= i < hi; at(i, j) is element j of the
// sequence in which value i is searched for.
template <class Value, class At, class Found>
void search_each(int64_t lo, int64_t hi, int64_t n, bool right, const Value& value, const At& at,
                 const Found& deliver) {
  for (int64_t i = lo; i < hi; i += kSearches) {
    const int64_t last = hi - 1;  // the searches beyond it repeat it
    decltype(value(i)) values[kSearches];
    int64_t first[kSearches] = {};
    for (int64_t l = 0; l < kSearches; ++l) values[l] = value(std::min(i + l, last));
    if (n > 0)
      insertion_points(first, n, values, right,
                       [&](int64_t l, int64_t j) { return at(std::min(i + l, last), j); });
    for (int64_t l = 0; l < kSearches && i + l < hi; ++l) deliver(i + l, first[l]);
  }
}

}  // namespace uh
