// Shape rules of view_backward.yaml.
#pragma once

#include "tensor/tensor.h"

namespace uh::shapes {

// The result has the input's strides. Its storage has room for every element of input and view: the
// first one there is the lower one of both offsets.
Tensor as_strided_backward(const Tensor& grad, const Dims& input_sizes, const Dims& input_strides,
                           int64_t input_offset, const Dims& size, const Dims& stride,
                           int64_t offset);

}  // namespace uh::shapes
