// Products of matrices on an OpenCL device: linalg.yaml and products.yaml.
#pragma once

namespace uh::opencl {

void register_products();

}  // namespace uh::opencl
