// The gradient of as_strided's gradient.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// `grad` belongs to the tensor of input_sizes; what lies at the addresses of the view is wanted.
Tensor as_strided_twice(const Tensor& grad, const Dims& input_sizes, const Dims& input_strides,
                        int64_t input_offset, const Dims& size, const Dims& stride, int64_t offset);

}  // namespace uh::autograd
