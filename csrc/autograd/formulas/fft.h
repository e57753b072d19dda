// Gradients of Fourier transforms: the inverse transforms.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// The gradient of a transform of real numbers. `size` is the input's size along the last
// transformed dimension; a onesided result has size / 2 + 1 there.
Tensor r2c_gradient(const Tensor& grad, const Dims& dim, int64_t normalization, bool onesided,
                    int64_t size);
// The gradient of a transform to real numbers, which uses most of its inputs twice.
Tensor c2r_gradient(const Tensor& grad, const Dims& dim, int64_t normalization, int64_t size);

}  // namespace uh::autograd
