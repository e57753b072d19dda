#include "base/device.h"

#include <array>
#include <charconv>

namespace uh {
namespace {

// Constant initialisation: names are read before any backend has registered.
constinit std::array<const char*, kDeviceTypeCount> g_names{
#define UH_DEVICE(enumerator, name) name,
#include "base/devices.inc"
};

}  // namespace

std::string_view name(DeviceType type) {
  return type == DeviceType::kUndefined ? "undefined" : g_names[static_cast<size_t>(type)];
}

void rename(DeviceType type, const char* name) { g_names[static_cast<size_t>(type)] = name; }

std::string name(Device device) {
  std::string text(name(device.type));
  if (device.index >= 0) text += ":" + std::to_string(device.index);
  return text;
}

std::optional<Device> find_device(std::string_view name) {
  const size_t colon = name.find(':');
  int index = -1;
  if (colon != std::string_view::npos) {
    const std::string_view digits = name.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    if (index < 0 || index > 127) return std::nullopt;
  }
  for (size_t type = 0; type < kDeviceTypeCount; ++type) {
    if (name.substr(0, colon) != g_names[type]) continue;
    const Device device(static_cast<DeviceType>(type), static_cast<int8_t>(index));
    return device.type == DeviceType::kCPU && index == 0 ? Device::kCPU : device;
  }
  return std::nullopt;
}

}  // namespace uh
