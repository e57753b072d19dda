// Ids are counted, not addresses: an address is reused, an event outlives its object.
#pragma once

#include <atomic>
#include <cstdint>

namespace uh {

enum class IdSpace { kTensor, kStorage, kVersionCounter, kCall, kNode, kBackward, kCount };

// The next id of a space, from 1; 0 always means "none".
inline int64_t next_id(IdSpace space) {
  static std::atomic<int64_t> counters[static_cast<int>(IdSpace::kCount)];
  return counters[static_cast<int>(space)].fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace uh
