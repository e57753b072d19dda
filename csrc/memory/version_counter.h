// Note [Version counter]: every in-place write increments a number that all views of a Storage
// share, so that backward can detect that a saved tensor has changed. The counter is part of the
// Storage: sharing needs no further object. Two kinds of tensors have a separate OwnCounter:
// `x.data` describes the same bytes but counts separately; a tensor that moved to another Storage
// (`set_`, `x.data = y`) keeps sharing the counter of its old Storage with its views
// (Storage::share_counter).
#pragma once

#include "base/ids.h"
#include "base/ref.h"

namespace uh {

class VersionCounter {
 public:
  VersionCounter() = default;
  // Starts at the version of `from`, under the same id.
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
