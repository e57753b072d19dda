// The OpenCL devices of this machine, which are looked for when one is first used.
//
// A device has a context, a queue, its memory and its compiled kernels. GPUs come first, then
// accelerators, then CPUs, so that "opencl" without a number is the best device.
// Invariant: an OpenclDevice lives as long as the process, as a Storage may live that long.
#pragma once

#include <memory>
#include <string>

#include "backend/opencl/api.h"
#include "backend/opencl/memory.h"
#include "backend/opencl/program.h"
#include "backend/opencl/queue.h"
#include "base/device.h"

namespace uh::opencl {

struct OpenclDevice {
  OpenclDevice(Device device, cl_platform_id platform, cl_device_id id);

  const Device device;  // "opencl:0"
  const cl_device_id id;
  const std::string title;    // as its driver calls it
  const std::string version;  // of its driver and of OpenCL
  // Work items should be threads; UNDERHOOD_OPENCL_LANES=1 makes it false, for tests.
  const bool is_cpu;
  const bool has_double;
  const bool divides_correctly;  // float division can be correctly rounded
  const size_t compute_units, largest_group, local_memory;
  const size_t max_argument_bytes;  // bytes of all arguments of a kernel
  const size_t vector_width;        // floats that an instruction takes at once
  const cl_context context;
  Queue queue;
  DeviceMemory memory;
  PinnedMemory pinned;
  Programs programs;
};

int device_count();
// Returns why there are no devices.
std::string absence();
// Waits until every device that has been used is idle; the next call reports failures.
void settle();
// Throws in a child of fork(): drivers do not work there, and their locks may be held forever.
void check_not_forked();
bool is_forked();
// Throws if there is no such device, and in a child of fork().
OpenclDevice& device_of(Device device);

}  // namespace uh::opencl
