// Meta as a device: tensors without bytes, of which only shapes are computed.
#include "backend/devices.h"
#include "memory/device_registry.h"

namespace uh {
namespace {

class MetaAllocator final : public Allocator {
 public:
  std::string_view name() const override { return "meta"; }
  AllocatorId id() const override { return AllocatorId::kMeta; }
  void* raw_allocate(size_t) override { return nullptr; }
  void raw_deallocate(void*, size_t) override {}
  AllocatorStats stats() const override { return {}; }
};

Allocator& meta_allocator(Device) {
  static auto* instance = new MetaAllocator;  // leaked: storages may outlive static destructors
  return *instance;
}

}  // namespace

void register_meta() {
  register_device(DeviceType::kMeta, {.name = "meta", .allocator = meta_allocator});
}

}  // namespace uh
