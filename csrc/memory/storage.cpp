#include "memory/storage.h"

#include <optional>

#include "base/call_section.h"
#include "base/error.h"
#include "memory/device_registry.h"
#include "memory/foreign_writes.h"

namespace uh {

void Storage::announce() {
  if (!events::on()) [[likely]]
    return;
  const int64_t allocator = allocator_ ? static_cast<int64_t>(allocator_->id()) : 0;
  events::emit(events::Kind::kSTORAGE_NEW, id_, reinterpret_cast<int64_t>(data()),
               static_cast<int64_t>(nbytes_), allocator, device_.code());
}

Storage::~Storage() {
  foreign_writes::forget(this);
  if (OwnCounter* shared = shared_counter_.load(std::memory_order_relaxed))
    Ref<OwnCounter>::adopt(shared);
  if (events::on()) [[unlikely]] {
    events::emit(events::Kind::kSTORAGE_FREE, id_, reinterpret_cast<int64_t>(data()),
                 static_cast<int64_t>(nbytes_));
  }
}

Ref<OwnCounter> Storage::share_counter() {
  OwnCounter* shared = shared_counter_.load(std::memory_order_acquire);
  if (!shared) {
    Ref<OwnCounter> counter = make_ref<OwnCounter>(counter_);
    // If another thread was faster, its counter is used.
    if (shared_counter_.compare_exchange_strong(shared, counter.get(), std::memory_order_acq_rel))
      shared = counter.leak();
  }
  return Ref<OwnCounter>::share(shared);
}

void Storage::resize(size_t nbytes) {
  // The caller that resizes the memory of a single tensor already makes a Change of it.
  std::optional<Change> change;
  if (use_count() > 1) change.emplace(Change::Memory{this});
  check(resizable(), "Trying to resize storage that is not resizable");
  if (nbytes == nbytes_) return;
  DataPtr bigger = allocator_->allocate(nbytes);
  if (bigger.get() && data())
    copy_bytes(bigger.get(), device_, data(), device_, nbytes < nbytes_ ? nbytes : nbytes_);
  data_ = std::move(bigger);
  is_plain_ = is_plain_ && nbytes >= nbytes_;
  nbytes_ = nbytes;
  if (events::on()) [[unlikely]] {
    events::emit(events::Kind::kSTORAGE_RESIZE, id_, reinterpret_cast<int64_t>(data()),
                 static_cast<int64_t>(nbytes_));
  }
}

}  // namespace uh
