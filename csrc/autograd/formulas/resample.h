// Gradients of resampling where one line does not say it.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// Factors as _upsample_backward takes them: 0 where none was given.
std::vector<double> factors(std::initializer_list<std::optional<double>> argument);
// The operator that `mode` and the number of factors name.
Tensor upsampled(const Tensor& t, const Dims& sizes, const std::vector<double>& factors,
                 const std::string& mode, bool align_corners);
Tensor affine_grid_generator_backward(const Tensor& grad, const Dims& size, bool align_corners);

}  // namespace uh::autograd
