// Double backward of convolutions.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// The gradient of convolution_backward's grad_output, given those of its three results: convolution
// is linear in the input, the weight and the bias.
Tensor convolution_backward_output(const Gradients& grads, const TensorInfo& output,
                                   const Tensor& input, const Tensor& weight, const Dims& stride,
                                   const Dims& padding, const Dims& dilation, bool transposed,
                                   const Dims& output_padding, int64_t groups);

}  // namespace uh::autograd
