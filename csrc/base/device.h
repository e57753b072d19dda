// Devices: cpu holds bytes, meta holds none (only shapes are computed).
#pragma once

#include <cstdint>
#include <string_view>

namespace uh {

enum class Device : int8_t { kCPU = 0, kMeta = 1, kUndefined = -1 };

inline std::string_view name(Device device) { return device == Device::kMeta ? "meta" : "cpu"; }

}  // namespace uh
