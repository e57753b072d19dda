// normalize.yaml on an OpenCL device.
#pragma once

namespace uh::opencl {

void register_normalize();

}  // namespace uh::opencl
