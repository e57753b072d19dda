// Note [Version counter]: every in-place write bumps a number that all views of a Storage share, so
// that a value saved for backward can be recognised as changed. The counter is part of the Storage:
// sharing needs no further object. Two kinds of tensors have a separate OwnCounter: `x.data`
// describes the same bytes and counts for itself; a tensor that moved to another Storage (`set_`,
// `x.data = y`) continues to count with the views that it had, and takes the counter of its old
// Storage along (Storage::share_counter).
#pragma once

#include "base/ids.h"
#include "base/ref.h"

namespace uh {

class VersionCounter {
 public:
  VersionCounter() = default;
  // Continues from the version of `from`, under its id.
  explicit VersionCounter(const VersionCounter& from) : id_(from.id_), version_(from.current()) {}
  VersionCounter& operator=(const VersionCounter&) = delete;
  int64_t id() const { return id_; }
  int64_t current() const { return version_.load(std::memory_order_relaxed); }
  int64_t bump() { return version_.fetch_add(1, std::memory_order_relaxed) + 1; }

 private:
  int64_t id_ = next_id(IdSpace::kVersionCounter);
  std::atomic<int64_t> version_{0};
};

struct OwnCounter final : RefCounted {
  OwnCounter() = default;
  explicit OwnCounter(const VersionCounter& from) : counter(from) {}
  VersionCounter counter;
};

}  // namespace uh
