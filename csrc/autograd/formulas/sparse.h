// Gradients of sparse operators. A sparse operand's gradient has its indices, as in PyTorch.
#pragma once

#include "autograd/formula.h"
#include "generated/ops/linalg.h"
#include "generated/ops/sparse.h"
#include "generated/ops/view.h"

namespace uh::autograd {

Tensor dense_gradient(const Tensor& grad);
// Converts a gradient to the layout of the argument.
Tensor to_layout_of(const Tensor& grad, const TensorInfo& self);
Tensor to_dense_backward(const Tensor& grad, const Tensor& self, bool masked);
Tensor sparse_mask_backward(const Tensor& grad, const TensorInfo& self);
Tensor values_backward(const Tensor& grad, const Tensor& self);
// The gradient of the sparse operand of _spmm, at its indices.
Tensor spmm_gradient_of_sparse(const Tensor& grad, const Tensor& self, const Tensor& mat2,
                               bool transpose);
// The gradients of the operands of _sparse_mm_reduce_impl; `selected` is its second result.
Tensor reduced_product_gradient_of_sparse(const Tensor& grad, const Tensor& self,
                                          const Tensor& other, std::string_view reduce,
                                          const Tensor& selected);
Tensor reduced_product_gradient_of_dense(const Tensor& grad, const Tensor& self,
                                         const Tensor& other, std::string_view reduce,
                                         const Tensor& selected);
Tensor sparse_product_gradient_of_left(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor sparse_product_gradient_of_right(const Tensor& grad, const Tensor& self,
                                        const Tensor& other);
Tensor sparse_softmax_backward(const Tensor& grad, const Tensor& result, int64_t dim);
Tensor sparse_log_softmax_backward(const Tensor& grad, const Tensor& result, int64_t dim);
// The transpose in the same layout.
Tensor transposed(const Tensor& matrix);
// The gradient of an embedding table, as a COO tensor with the rows that were read.
Tensor rows_gradient(const Tensor& grad, const Tensor& indices, int64_t rows, int64_t padding);

}  // namespace uh::autograd
