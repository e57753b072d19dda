#include "tensor/holder_tracker.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "base/per_thread.h"

namespace uh {
namespace {

constexpr size_t kMaxUnsettled = 4096;

// Live tensors, by id. The lock is held while a count is read, and taken by a dying tensor before
// it is freed: so no count of a freed tensor is read.
std::mutex g_lock;
std::unordered_map<int64_t, TensorImpl*>& watched() {
  static auto* all = new std::unordered_map<int64_t, TensorImpl*>;
  return *all;
}

// Returns 0 if the tensor has been freed.
int64_t count_of(int64_t tensor) {
  const std::lock_guard guard(g_lock);
  const auto it = watched().find(tensor);
  return it == watched().end() ? 0 : it->second->use_count();
}

// The counts that this thread has recorded since it last settled, by tensor.
struct Unsettled {
  std::unordered_map<int64_t, int64_t> counts;
};
std::unordered_map<int64_t, int64_t>& unsettled_counts() { return per_thread<Unsettled>().counts; }

void emit(events::Kind kind, const TensorUse& use, int64_t count) {
  events::emit(kind, use.tensor, static_cast<int64_t>(use.kind), use.holder, count, use.position);
}

}  // namespace

void watch(TensorImpl& impl) {
  const std::lock_guard guard(g_lock);
  if (impl.watched()) return;
  impl.set_watched();
  watched().emplace(impl.id(), &impl);
}

void forget(int64_t tensor) {
  const std::lock_guard guard(g_lock);
  watched().erase(tensor);
}

void record_references(const std::vector<TensorUse>& dropped, const std::vector<TensorUse>& added,
                       const std::vector<int64_t>& passing) {
  if (!events::on() || dropped.size() + added.size() == 0) return;
  // The number to add to the current count to obtain the count after each event.
  std::unordered_map<int64_t, int64_t> later;
  for (const TensorUse& use : dropped) ++later[use.tensor];
  for (const TensorUse& use : added) --later[use.tensor];
  for (const int64_t tensor : passing) --later[tensor];
  const auto record = [&](events::Kind kind, const TensorUse& use, int64_t change) {
    int64_t& remainder = later[use.tensor];
    remainder += change;
    if (const int64_t count = count_of(use.tensor); count > 0)
      emit(kind, use, std::max<int64_t>(count + remainder, 0));
  };
  for (const TensorUse& use : dropped) record(events::Kind::kTENSOR_RELEASE, use, -1);
  for (const TensorUse& use : added) record(events::Kind::kTENSOR_RETAIN, use, 1);
}

void settle_counts() {
  if (!events::on()) return;
  for (const auto& [tensor, recorded] : unsettled_counts()) {
    const int64_t count = count_of(tensor);
    if (count > 0 && count != recorded) events::emit(events::Kind::kUSE_COUNT, tensor, count);
  }
  unsettled_counts().clear();
}

namespace {
void add_unsettled(const std::vector<TensorUse>& uses) {
  if (unsettled_counts().size() + uses.size() > kMaxUnsettled) unsettled_counts().clear();
  for (const TensorUse& use : uses) unsettled_counts()[use.tensor] = count_of(use.tensor);
}
}  // namespace

HolderTracker::~HolderTracker() {
  if (!events::on()) return;
  record_references(recorded_, {});
  add_unsettled(recorded_);
}

void HolderTracker::update(const std::vector<Reference>& references) {
  std::vector<TensorUse> fresh, dropped, added;
  for (const Reference& reference : references) {
    watch(*reference.tensor->impl());
    fresh.push_back({kind_, holder_, reference.index, reference.tensor->id()});
  }
  const auto same = [](const TensorUse& a, const TensorUse& b) {
    return a.position == b.position && a.tensor == b.tensor;
  };
  // Unchanged references are in both lists, in the same order.
  size_t begin = 0, ends = 0;
  const size_t shorter = std::min(recorded_.size(), fresh.size());
  while (begin < shorter && same(recorded_[begin], fresh[begin])) ++begin;
  while (begin + ends < shorter &&
         same(recorded_[recorded_.size() - 1 - ends], fresh[fresh.size() - 1 - ends]))
    ++ends;
  const auto middle = [&](const std::vector<TensorUse>& all) {
    return std::vector<TensorUse>(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                  all.end() - static_cast<std::ptrdiff_t>(ends));
  };
  dropped = middle(recorded_);
  added = middle(fresh);
  recorded_ = std::move(fresh);
  record_references(dropped, added);
  add_unsettled(dropped);
  add_unsettled(added);
}

void HolderTracker::take(int64_t index, const Tensor& tensor) {
  watch(*tensor.impl());
  recorded_.push_back({kind_, holder_, index, tensor.id()});
  record_references({}, {recorded_.back()});
  add_unsettled({recorded_.back()});
}

int64_t HolderTracker::next_number() {
  static std::atomic<int64_t> g_numbers{0};
  return ++g_numbers;
}

}  // namespace uh
