// Note [Version counter]: every in-place write bumps a number that all views of a Storage share, so
// that a value saved for backward can be recognised as changed. The counter is part of the Storage:
// sharing needs no object of its own. `x.data` alone describes the same bytes with a counter of its
// own (OwnCounter), as in PyTorch.
#pragma once

#include "base/ids.h"
#include "base/ref.h"

namespace uh {

class VersionCounter {
 public:
  explicit VersionCounter(int64_t start = 0) : version_(start) {}
  int64_t id() const { return id_; }
  int64_t current() const { return version_.load(std::memory_order_relaxed); }
  int64_t bump() { return version_.fetch_add(1, std::memory_order_relaxed) + 1; }

 private:
  int64_t id_ = next_id(IdSpace::kVersionCounter);
  std::atomic<int64_t> version_;
};

struct OwnCounter final : RefCounted {
  explicit OwnCounter(int64_t start = 0) : counter(start) {}
  VersionCounter counter;
};

}  // namespace uh
