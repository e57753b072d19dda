// Gradients of resampling that do not fit into a line of yaml.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// Factors for _upsample_backward: 0 for absent ones.
std::vector<double> factors(std::initializer_list<std::optional<double>> argument);
// Calls the operator chosen by `mode` and the number of factors.
Tensor upsampled(const Tensor& t, const Dims& sizes, const std::vector<double>& factors,
                 const std::string& mode, bool align_corners);
Tensor affine_grid_generator_backward(const Tensor& grad, const Dims& size, bool align_corners);

}  // namespace uh::autograd
