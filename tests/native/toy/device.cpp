// The toy device's memory: host addresses with a bit set that no valid address has, so that a CPU
// kernel that dereferences one crashes.
#include <bit>
#include <cstdlib>
#include <cstring>

#include "dispatch/dispatcher.h"
#include "generated/ops/copy.h"
#include "generated/structured/arithmetic.h"
#include "memory/device_registry.h"
#include "ops/cpu_fallback.h"
#include "toy/kernels.h"
#include "toy/toy.h"

namespace uh::toy {
namespace {

constexpr uintptr_t kMark = uintptr_t{1} << 60;

class ToyAllocator final : public Allocator {
 public:
  std::string_view name() const override { return "toy"; }
  AllocatorId id() const override { return AllocatorId::kPrivateUse1; }
  void* raw_allocate(size_t bytes) override {
    return bytes == 0 ? nullptr : to_device(std::malloc(bytes));
  }
  void raw_deallocate(void* pointer, size_t) override {
    if (pointer) std::free(to_host(pointer));
  }
  AllocatorStats stats() const override { return {}; }
};

Allocator& allocator(Device) {
  static auto* instance = new ToyAllocator;
  return *instance;
}

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, size_t bytes) {
  std::memcpy(is_host(to_device) ? to : to_host(to), is_host(from_device) ? from : to_host(from),
              bytes);
}

}  // namespace

void* to_device(void* host) { return std::bit_cast<void*>(std::bit_cast<uintptr_t>(host) | kMark); }
void* to_host(const void* device) {
  return std::bit_cast<void*>(std::bit_cast<uintptr_t>(device) & ~kMark);
}

void register_toy() {
  register_device(DeviceType::kPrivateUse1,
                  {.name = "toy", .allocator = allocator, .copy_bytes = copy_bytes});
  structured::register_add<device_pointwise<add>>(Key::kPrivateUse1, "toy::add");
  structured::register_mul<device_pointwise<mul>>(Key::kPrivateUse1, "toy::mul");
  ops::fill__Scalar_op.set_kernel(Key::kPrivateUse1, fill, "toy::fill");
  Dispatcher::instance().register_fallback(Key::kPrivateUse1, cpu_fallback, "cpu_fallback");
}

}  // namespace uh::toy
