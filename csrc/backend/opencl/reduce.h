// Reductions on an OpenCL device: the operators of reduce.yaml, moments.yaml and norms.yaml.
#pragma once

#include "tensor/tensor.h"

namespace uh::opencl {

// Computes the mean and the variance (with correction 0) over `dims` in the dtype of the results.
void mean_and_variance(const Tensor& self, const Dims& dims, const Tensor& variance,
                       const Tensor& mean);
// The sum over `dims`.
void sum_over(const Tensor& self, const Dims& dims, const Tensor& result);

// Registers the kernels.
void register_reductions();

}  // namespace uh::opencl
