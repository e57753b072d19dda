// Gradients of as_strided_scatter, whose view may be anywhere in the storage.
#pragma once

#include <tuple>

#include "autograd/formula.h"

namespace uh::autograd {

std::tuple<Tensor, Tensor> as_strided_scatter_backward(const Tensor& grad, const Dims& sizes,
                                                       const Dims& strides, int64_t offset,
                                                       const Dims& part_sizes,
                                                       const Dims& part_strides,
                                                       std::optional<int64_t> part_offset);

}  // namespace uh::autograd
