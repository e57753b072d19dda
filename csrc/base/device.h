// Devices: the location of a tensor's bytes. cpu and meta (no bytes: only shapes are computed) are
// built in; a backend claims one of PyTorch's PrivateUse types and names it.
//
// devices.inc lists the types. Read next: memory/device_registry.h, which backends register with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bit_field.h"

namespace uh {

enum class DeviceType : int8_t {
#define UH_DEVICE(enumerator, name) enumerator,
#include "base/devices.inc"
  kCount,
  kUndefined = -1,
};

inline constexpr size_t kDeviceTypeCount = static_cast<size_t>(DeviceType::kCount);

// "cpu"; "privateuseone" or "privateusetwo" for a type that no backend has claimed.
std::string_view name(DeviceType type);
// Called by the registry: names a type after its backend. `name` must outlive the process.
void rename(DeviceType type, const char* name);

#define UH_DEVICE_FIELD(constant, name, shift, bits) inline constexpr BitField constant{shift, bits};
#include "base/devices.inc"

struct Device {
  DeviceType type = DeviceType::kUndefined;
  int8_t index = -1;  // ordinal among devices of the type; -1: the only one, or the current one

  constexpr Device() = default;
  constexpr Device(DeviceType t, int8_t i = -1) : type(t), index(i) {}
  static const Device kCPU, kMeta, kUndefined;

  friend constexpr bool operator==(const Device&, const Device&) = default;

  // The device as one number, for the C ABI and events; -1: undefined.
  constexpr int64_t code() const {
    if (type == DeviceType::kUndefined) return -1;
    return kDeviceType.pack(static_cast<int64_t>(type)) | kDeviceIndex.pack(index + 1);
  }
  static constexpr Device of_code(int64_t code) {
    if (code < 0) return Device();
    return Device(static_cast<DeviceType>(kDeviceType.unpack(code)),
                  static_cast<int8_t>(kDeviceIndex.unpack(code) - 1));
  }
};

inline constexpr Device Device::kCPU{DeviceType::kCPU};
inline constexpr Device Device::kMeta{DeviceType::kMeta};
inline constexpr Device Device::kUndefined{};

// "cpu", "opencl:1".
std::string name(Device device);
// Parses a device name; nullopt if no device has it. "cpu:0" is the CPU.
std::optional<Device> find_device(std::string_view name);

}  // namespace uh
