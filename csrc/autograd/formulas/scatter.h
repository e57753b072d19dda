// Gradients of scattering.
#pragma once

#include <tuple>

#include "autograd/formula.h"

namespace uh::autograd {

std::tuple<Tensor, Tensor> scatter_reduce_backward(const Tensor& grad, const Tensor& self,
                                                   int64_t dim, const Tensor& index,
                                                   const Tensor& src, const std::string& reduce,
                                                   bool include_self, const Tensor& result);

}  // namespace uh::autograd
