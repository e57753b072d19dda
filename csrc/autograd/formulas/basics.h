// Gradients of arithmetic, sums and views that do not fit into a line of yaml.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// The gradient of a sum: each element gets the gradient of its sum.
Tensor sum_backward(const Tensor& grad, const Dims& sizes, const std::optional<Dims>& dim,
                    bool keepdim);
// The number of elements per result of a reduction over `dim`.
int64_t reduced(const Dims& sizes, const std::optional<Dims>& dim);
// The gradient with the reduced dimensions restored as size 1.
Tensor with_dims(const Tensor& grad, const Dims& sizes, const std::optional<Dims>& dim,
                 bool keepdim);

Tensor pow_backward_self(const Tensor& grad, const Operand& self, const Operand& exponent);
Tensor pow_backward_exponent(const Tensor& grad, const Operand& self, const Operand& exponent,
                             const Tensor& result);

// The permutation that undoes `dims`.
Dims inverse(const Dims& dims);
// Gradients of all outputs of `node`, zeros for those that got none.
std::vector<Tensor> or_zeros(const Node& node, const Gradients& grads);

// Raises for a derivative that PyTorch does not implement either.
[[noreturn]] Tensor underivable(const char* op);
Tensor as_tensor(const Operand& operand);
Tensor zero_gradient(const Tensor& grad);
// The gradient itself if it has this dtype and device, else converted.
Tensor converted_gradient(const Tensor& grad, DType dtype, Device device);
Scalar negated(const Scalar& number);
// grad * conj(factor); free for a factor of 1.
Tensor scaled(const Tensor& grad, const Scalar& factor);

Tensor softmax_backward(const Tensor& grad, const Tensor& result, int64_t dim, DType dtype);
Tensor log_softmax_backward(const Tensor& grad, const Tensor& result, int64_t dim, DType dtype);

}  // namespace uh::autograd
