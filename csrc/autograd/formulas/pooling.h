// Gradients of poolings that do not fit into a line of yaml.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// The elements at `indices` of the planes that the last `dims` dimensions form.
Tensor taken_at(const Tensor& grad, const Tensor& indices, int64_t dims);
// The adaptive average over the last `dims` dimensions, with result sizes `sizes`.
Tensor adaptive_averages(const Tensor& grad, const Dims& sizes, int64_t dims);

}  // namespace uh::autograd
