// The toy device's kernels.
#pragma once

#include "dispatch/operator.h"
#include "ops/pointwise.h"

namespace uh::toy {

// Addresses of the toy device and of the host memory that stands for it.
void* to_device(void* host);
void* to_host(const void* device);

void add(DType dtype, std::span<const Input> inputs, const Params& params, const Tensor& out);
void mul(DType dtype, std::span<const Input> inputs, const Params& params, const Tensor& out);
void fill(KeySet, const Tensor& self, const Scalar& value);

}  // namespace uh::toy
