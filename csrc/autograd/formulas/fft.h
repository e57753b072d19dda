// Gradients of Fourier transforms: transforms the other way round.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// Of a transform of real numbers: `size` is the input's along the last transformed dimension, of
// which a onesided result has little more than half.
Tensor r2c_gradient(const Tensor& grad, const Dims& dim, int64_t normalization, bool onesided,
                    int64_t size);
// Of one to real numbers, which takes most of its inputs for two.
Tensor c2r_gradient(const Tensor& grad, const Dims& dim, int64_t normalization, int64_t size);

}  // namespace uh::autograd
