// Gradients of writing slices selected by a 1-d index.
#pragma once

#include <tuple>

#include "autograd/formula.h"

namespace uh::autograd {

// The slices of `grad` at the positions that a source of these sizes was written to.
Tensor index_source_backward(const Tensor& grad, int64_t dim, const Tensor& index,
                             const Dims& sizes);
// The gradient of the value that index_fill wrote.
Tensor filled_value_backward(const Tensor& grad, int64_t dim, const Tensor& index);
std::tuple<Tensor, Tensor> index_reduce_backward(const Tensor& grad, const Tensor& self,
                                                 int64_t dim, const Tensor& index,
                                                 const Tensor& source, const std::string& reduce,
                                                 bool include_self, const Tensor& result);
Tensor put_self_backward(const Tensor& grad, const Tensor& index, const Dims& sizes,
                         bool accumulate);

}  // namespace uh::autograd
