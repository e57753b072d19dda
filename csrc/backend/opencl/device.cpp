// Registers OpenCL as a device. No library is loaded before the first tensor is created on it.
#include "backend/devices.h"
#include "backend/opencl/copy.h"
#include "backend/opencl/gemm.h"
#include "backend/opencl/normalize.h"
#include "backend/opencl/platform.h"
#include "backend/opencl/reduce.h"
#include "backend/opencl/registration.h"
#include "backend/opencl/softmax.h"
#include "backend/opencl/transfer.h"
#include "dispatch/dispatcher.h"
#include "generated/ops/copy.h"
#include "memory/device_registry.h"
#include "ops/cpu_fallback.h"

namespace uh {

void register_opencl() {
  using namespace opencl;  // NOLINT: every line calls into it
  register_device(
      DeviceType::kOpenCL,
      {.name = "opencl",
       .allocator = [](Device device) -> Allocator& { return device_of(device).memory; },
       .copy_bytes = opencl::copy_bytes,
       .count = opencl::device_count,
       .absence = opencl::absence,
       .title = [](Device device) { return device_of(device).title; },
       .synchronize = [](Device device) { device_of(device).queue.finish("synchronize"); },
       .mark = [](Device device) { return device_of(device).queue.mark(); },
       .idle = [](Device device) { return device_of(device).queue.pending() == 0; },
       .settle = opencl::settle,
       .waits = opencl::host_waits,
       .empty_cache = [](Device device) { device_of(device).memory.empty_cache(); },
       .reset_peak = [](Device device) { device_of(device).memory.reset_peak(); },
       .total_memory = [](Device device) { return device_of(device).memory.total(); },
       .set_memory_limit = [](Device device,
                              size_t bytes) { device_of(device).memory.set_limit(bytes); },
       .pinned_allocator = [](Device device) -> Allocator& { return device_of(device).pinned; }});
  constexpr Key kKey = Key::kOpenCL;
  ops::copy__op.set_kernel(kKey, opencl::copy, "opencl copy_");
  ops::clone_op.set_kernel(kKey, opencl::clone, "opencl clone");
  ops::_to_copy_op.set_kernel(kKey, opencl::to_copy, "opencl _to_copy");
  ops::fill__Scalar_op.set_kernel(kKey, opencl::fill, "opencl fill_");
  ops::fill__op.set_kernel(kKey, opencl::fill_from, "opencl fill_");
  ops::zero__op.set_kernel(kKey, opencl::zero, "opencl zero_");
  register_reductions();
  register_softmax();
  register_normalize();
  register_products();
  register_families();
  Dispatcher::instance().register_fallback(kKey, cpu_fallback, "cpu_fallback");
}

}  // namespace uh
