// The CPU as a device: its tensors are in host memory.
#include "backend/cpu/allocator.h"
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/sparse/operators.h"
#include "backend/devices.h"
#include "memory/device_registry.h"
#include "ops/copy/device_copy.h"

namespace uh {

void register_cpu() {
  register_device(DeviceType::kCPU, {.name = "cpu", .allocator = [](Device) -> Allocator& {
                                       return pool_allocator();
                                     }});
  register_host_copy([](const Tensor& to, const Tensor& from) { copy_elements(to, from); });
  sparse::register_operators();
}

}  // namespace uh
