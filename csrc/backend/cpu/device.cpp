// The CPU as a device: its tensors are in host memory.
#include "backend/cpu/allocator.h"
#include "backend/devices.h"
#include "memory/device_registry.h"

namespace uh {

void register_cpu() {
  register_device(DeviceType::kCPU, {.name = "cpu", .allocator = [](Device) -> Allocator& {
                                       return pool_allocator();
                                     }});
}

}  // namespace uh
