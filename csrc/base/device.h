// Devices: cpu holds bytes, meta holds none (only shapes are computed).
#pragma once

#include <cstdint>
#include <string_view>

namespace uh {

enum class Device : int8_t {
#define UH_DEVICE(enumerator, name) enumerator,
#include "base/devices.inc"
#undef UH_DEVICE
  kCount,
  kUndefined = -1,
};

inline std::string_view name(Device device) {
  static constexpr std::string_view kNames[] = {
#define UH_DEVICE(enumerator, name) name,
#include "base/devices.inc"
#undef UH_DEVICE
  };
  return device == Device::kUndefined ? "undefined" : kNames[static_cast<int>(device)];
}

}  // namespace uh
