#include "memory/device_registry.h"

#include <array>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace uh {
namespace {

constinit std::array<DeviceBackend, kDeviceTypeCount> g_backends{};

bool has_backend(DeviceType type) {
  return type != DeviceType::kUndefined && g_backends[static_cast<size_t>(type)].allocator;
}

}  // namespace

constinit std::array<Allocator*, kDeviceTypeCount> g_allocators{};

void register_device(DeviceType type, const DeviceBackend& backend) {
  check(!has_backend(type), "register_device: ", name(type), " is registered already");
  check(backend.name && backend.allocator, "register_device: a device has a name and an allocator");
  g_backends[static_cast<size_t>(type)] = backend;
  rename(type, backend.name);
  if (!backend.count)
    g_allocators[static_cast<size_t>(type)] = &backend.allocator(with_index(Device(type)));
}

int device_count(DeviceType type) {
  const DeviceBackend& backend = backend_of(type);
  return backend.count ? backend.count() : 1;
}

Allocator& find_allocator(Device device) {
  const DeviceBackend& backend = backend_of(device.type);
  const int count = device_count(device.type);
  if (count == 0 && backend.absence) fail(ErrorKind::kRuntime, backend.name, ": ", backend.absence());
  check(device.index < count, "device: there is no ", name(device), "; the number of ",
        backend.name, " devices is ", count);
  Allocator& allocator = backend.allocator(device);
  if (device.index <= 0) g_allocators[static_cast<size_t>(device.type)] = &allocator;
  return allocator;
}

const DeviceBackend& backend_of(DeviceType type) {
  if (!has_backend(type)) [[unlikely]]
    fail(ErrorKind::kRuntime, "device: this library has no backend for ", name(type));
  return g_backends[static_cast<size_t>(type)];
}

std::vector<DeviceType> device_types() {
  std::vector<DeviceType> types;
  for (size_t i = 0; i < kDeviceTypeCount; ++i) {
    if (has_backend(static_cast<DeviceType>(i))) types.push_back(static_cast<DeviceType>(i));
  }
  return types;
}

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, size_t bytes) {
  if (bytes == 0) return;
  const auto to_copy = backend_of(to_device.type).copy_bytes;
  const auto from_copy = backend_of(from_device.type).copy_bytes;
  if (!to_copy && !from_copy) {
    std::memcpy(to, from, bytes);
  } else if (to_copy && from_copy && to_copy != from_copy) {
    const auto staging = std::make_unique_for_overwrite<std::byte[]>(bytes);
    from_copy(staging.get(), Device::kCPU, from, from_device, bytes);
    to_copy(to, to_device, staging.get(), Device::kCPU, bytes);
  } else {
    (to_copy ? to_copy : from_copy)(to, to_device, from, from_device, bytes);
  }
}

}  // namespace uh
