// A random permutation from random numbers.
#pragma once

#include <cstdint>
#include <utility>

namespace uh {

// Writes a permutation of 0 to n - 1, determined by n draws of [0, 2^63) (Fisher-Yates).
inline void shuffle(int64_t* order, const uint64_t* draws, int64_t n) {
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  for (int64_t i = n - 1; i > 0; --i) {
    const auto j = static_cast<int64_t>(
        (static_cast<unsigned __int128>(draws[i]) * static_cast<uint64_t>(i + 1)) >> 63);
    std::swap(order[i], order[j]);
  }
}

}  // namespace uh
