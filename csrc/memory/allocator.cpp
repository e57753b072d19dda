#include "memory/allocator.h"

#include "events/recorder.h"

namespace uh {

DataPtr Allocator::allocate(size_t bytes) {
  auto give_back = [](void* context, void* pointer, size_t n) {
    static_cast<Allocator*>(context)->raw_deallocate(pointer, n);
  };
  return DataPtr(raw_allocate(bytes), bytes, this, give_back);
}

void record_allocate(AllocatorId id, void* pointer, size_t bytes, bool reused) {
  if (!events::on()) [[likely]]
    return;
  events::emit(events::Kind::kALLOCATE, static_cast<int64_t>(id),
               reinterpret_cast<int64_t>(pointer), static_cast<int64_t>(bytes), 0, reused);
}

void record_free(AllocatorId id, void* pointer, size_t bytes, bool cached) {
  if (!events::on()) [[likely]]
    return;
  events::emit(events::Kind::kFREE, static_cast<int64_t>(id), reinterpret_cast<int64_t>(pointer),
               static_cast<int64_t>(bytes), 0, cached);
}

}  // namespace uh
