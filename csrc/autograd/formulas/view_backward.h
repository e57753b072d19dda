// Double backward of as_strided.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// Returns the elements of `grad`, whose layout is the input's, at the addresses of the view.
Tensor as_strided_twice(const Tensor& grad, const Dims& input_sizes, const Dims& input_strides,
                        int64_t input_offset, const Dims& size, const Dims& stride, int64_t offset);

}  // namespace uh::autograd
