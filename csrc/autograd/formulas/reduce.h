// Gradients of reductions: the share of each element in the result's gradient.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                     const std::optional<Dims>& dim, bool keepdim);
// Elements equal to the extreme share its gradient equally.
Tensor extreme_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                        const std::optional<Dims>& dim, bool keepdim);
Tensor aminmax_backward(const Tensor& grad_min, const Tensor& grad_max, const Tensor& self,
                        std::optional<int64_t> dim, bool keepdim, const Tensor& min,
                        const Tensor& max);
// The same for a reduction of the whole tensor, whose result may be NaN.
Tensor evenly_distributed(const Tensor& grad, const Tensor& self, const Tensor& result);
// The gradient of elements that were selected by `indices` along `dim`, each at most once.
Tensor chosen_backward(const Tensor& grad, int64_t dim, const Tensor& indices, const Dims& sizes,
                       bool keepdim);
Tensor logsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                          const std::optional<Dims>& dim, bool keepdim);

}  // namespace uh::autograd
