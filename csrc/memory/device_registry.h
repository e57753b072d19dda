// The registry of devices: what a backend says about its device, in one call.
//
// What: per device type its name, its allocator and how bytes are copied to and from it. What runs
// there is registered with the operators, under the key of the type (key_of in tensor/key_set.h).
// Invariant: a type is registered before the first tensor on it exists, and once.
// PyTorch spreads the same over c10::SetAllocator, DeviceGuardImpl and
// register_privateuse1_backend.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/device.h"
#include "memory/allocator.h"

namespace uh {

struct DeviceBackend {
  const char* name = nullptr;  // "opencl"; outlives the process
  Allocator& (*allocator)(Device device) = nullptr;
  // Copies bytes between two devices, at least one of which is this one; the other may be the host.
  // Returns when they are there. Null: the bytes are in host memory, or there are none.
  void (*copy_bytes)(void* to, Device to_device, const void* from, Device from_device,
                     size_t bytes) = nullptr;
  // The number of such devices; null: one. It may look for them first: it is called when the first
  // tensor is created, not when the type is registered.
  int (*count)() = nullptr;

  // The others may be null: nothing is known, nothing is to be done.
  std::string (*absence)() = nullptr;           // why there are none
  std::string (*title)(Device device) = nullptr;  // as its maker calls it
  void (*synchronize)(Device device) = nullptr;  // returns when nothing is left to do
  // The same for all devices that are in use, without a word of what failed: a recording ends.
  void (*settle)() = nullptr;
  int64_t (*waits)() = nullptr;  // how often the host has waited for one of them
  void (*empty_cache)(Device device) = nullptr;
  void (*reset_peak)(Device device) = nullptr;   // of its allocator's statistics
  size_t (*total_memory)(Device device) = nullptr;
  void (*set_memory_limit)(Device device, size_t bytes) = nullptr;
  Allocator& (*pinned_allocator)(Device device) = nullptr;  // host memory that it copies directly
};

void register_device(DeviceType type, const DeviceBackend& backend);

// Throws where no backend has registered the type.
const DeviceBackend& backend_of(DeviceType type);
// Types that have a backend, in the order of their numbers.
std::vector<DeviceType> device_types();

// The allocator of a device; of a backend's one without an index that of its first.
extern constinit std::array<Allocator*, kDeviceTypeCount> g_allocators;  // of the first of each
Allocator& find_allocator(Device device);
inline Allocator& allocator_of(Device device) {
  Allocator* allocator = g_allocators[static_cast<size_t>(device.type)];
  if (allocator && device.index <= 0) [[likely]]
    return *allocator;
  return find_allocator(device);
}
// The number of devices of the type.
int device_count(DeviceType type);
// The device as tensors on it name it: a backend's one without an index is its first.
inline Device with_index(Device device) {
  if (device.type <= DeviceType::kMeta || device.index >= 0) return device;
  return Device(device.type, 0);
}

// True where the host may read and write the bytes of tensors.
inline bool is_host(Device device) { return device.type == DeviceType::kCPU; }

// Copies bytes between any two devices, by way of the host where neither knows the other.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, size_t bytes);

}  // namespace uh
