// The registry of devices: one call describes a backend's device.
//
// Per device type: its name, its allocator and a function that copies bytes to and from it.
// Kernels are registered with the operators, under the key of the type (key_of in
// tensor/key_set.h). Invariant: a type is registered once, before the first tensor on it
// exists. PyTorch splits this into c10::SetAllocator, DeviceGuardImpl and
// register_privateuse1_backend.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/device.h"
#include "memory/allocator.h"

namespace uh {

// A point in a device's queue: after all commands that were enqueued when it was marked.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
  virtual bool reached() = 0;
  virtual void wait() = 0;
  // The nanosecond of the device's clock at which it was reached.
  virtual int64_t time() = 0;
};

struct DeviceBackend {
  const char* name = nullptr;  // "opencl"; outlives the process
  Allocator& (*allocator)(Device device) = nullptr;
  // Copies bytes between two devices, at least one of them of this type; the other may be the host.
  // Returns when the copy is complete. Null: the bytes are in host memory, or there are none.
  void (*copy_bytes)(void* to, Device to_device, const void* from, Device from_device,
                     size_t bytes) = nullptr;
  // The number of such devices; null: one. May search for them first: it is called when the first
  // tensor is created, not when the type is registered.
  int (*count)() = nullptr;

  // Optional functions, null if not supported.
  std::string (*absence)() = nullptr;             // why there is no device
  std::string (*title)(Device device) = nullptr;  // the manufacturer's name of the device
  void (*synchronize)(Device device) = nullptr;   // waits until all of its work is done
  std::unique_ptr<DeviceEvent> (*mark)(Device device) = nullptr;
  bool (*idle)(Device device) = nullptr;  // all of its work is done
  // Synchronises all devices in use and ignores failures: called when a recording ends.
  void (*settle)() = nullptr;
  int64_t (*waits)() = nullptr;  // how often the host has waited for a device
  void (*empty_cache)(Device device) = nullptr;
  void (*reset_peak)(Device device) = nullptr;  // of its allocator's statistics
  size_t (*total_memory)(Device device) = nullptr;
  void (*set_memory_limit)(Device device, size_t bytes) = nullptr;
  Allocator& (*pinned_allocator)(Device device) = nullptr;  // host memory, for direct copies
};

void register_device(DeviceType type, const DeviceBackend& backend);

// Throws if no backend has registered the type.
const DeviceBackend& backend_of(DeviceType type);
// The types that have a backend, by number.
std::vector<DeviceType> device_types();

// The allocator of a device; without an index, that of the type's first device.
extern constinit std::array<Allocator*, kDeviceTypeCount> g_allocators;  // first device of each
Allocator& find_allocator(Device device);
inline Allocator& allocator_of(Device device) {
  Allocator* allocator = g_allocators[static_cast<size_t>(device.type)];
  if (allocator && device.index <= 0) [[likely]]
    return *allocator;
  return find_allocator(device);
}
// The number of devices of the type.
int device_count(DeviceType type);
// The device as stored in a tensor: without an index, the type's first device.
inline Device with_index(Device device) {
  if (device.type <= DeviceType::kMeta || device.index >= 0) return device;
  return Device(device.type, 0);
}

// True if the host may read and write the tensor's bytes.
inline bool is_host(Device device) { return device.type == DeviceType::kCPU; }

// Copies bytes between any two devices, through the host if neither backend supports the other.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, size_t bytes);

}  // namespace uh
