// Gradients of modified Bessel functions at and near 0.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

Tensor i1_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor i1e_backward(const Tensor& grad, const Tensor& self, const Tensor& result);

}  // namespace uh::autograd
