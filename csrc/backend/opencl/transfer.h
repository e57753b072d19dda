// Bytes between the host and a device, and between devices.
#pragma once

#include "backend/opencl/platform.h"

namespace uh::opencl {

// Host to device. When it returns, `from` may be overwritten: few bytes are copied first, and for
// many it waits, unless `from` is pinned memory and `non_blocking` is true.
void write(void* to, const void* from, size_t bytes, OpenclDevice& device,
           bool non_blocking = false);
// Device to host. Waits, unless `to` is pinned memory and `non_blocking` is true.
void read(void* to, const void* from, size_t bytes, OpenclDevice& device, const char* reason,
          bool non_blocking = false);
// On one device: enqueued.
void copy_within(void* to, const void* from, size_t bytes, OpenclDevice& device);

// DeviceBackend::copy_bytes.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, size_t bytes);

}  // namespace uh::opencl
