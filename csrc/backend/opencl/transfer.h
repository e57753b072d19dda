// Bytes between the host and a device, and between devices.
#pragma once

#include "backend/opencl/platform.h"

namespace uh::opencl {

// Host to device. The bytes have been taken when it returns: small ones are copied first, and large
// ones waited for, unless `from` is pinned memory and `non_blocking` allows to read it later.
void write(void* to, const void* from, size_t bytes, OpenclDevice& device,
           bool non_blocking = false);
// Device to host. Waits, unless `to` is pinned memory and `non_blocking` allows to write it later.
void read(void* to, const void* from, size_t bytes, OpenclDevice& device, const char* reason,
          bool non_blocking = false);
// On one device: enqueued.
void copy_within(void* to, const void* from, size_t bytes, OpenclDevice& device);

// DeviceBackend::copy_bytes.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, size_t bytes);

}  // namespace uh::opencl
