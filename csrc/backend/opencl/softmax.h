// softmax.yaml on an OpenCL device.
#pragma once

namespace uh::opencl {

void register_softmax();

}  // namespace uh::opencl
