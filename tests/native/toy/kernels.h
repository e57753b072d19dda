// The toy device's kernels.
#pragma once

#include "dispatch/operator.h"
#include "ops/pointwise.h"

namespace uh::toy {

// Converts between addresses of the toy device and of the host memory that implements it.
void* to_device(void* host);
void* to_host(const void* device);

void add(DType dtype, std::span<const Input> inputs, const Params& params, const Tensor& out);
void mul(DType dtype, std::span<const Input> inputs, const Params& params, const Tensor& out);
void fill(KeySet, const Tensor& self, const Scalar& value);

}  // namespace uh::toy
