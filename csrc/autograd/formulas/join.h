// Gradients of joining and repeating: slices or sums of the result's gradient.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<TensorInfo>& parts,
                                 int64_t dim);
Tensor repeat_backward(const Tensor& grad, const Dims& sizes, const Dims& repeats);
Dims opposite(const Dims& shifts);

}  // namespace uh::autograd
