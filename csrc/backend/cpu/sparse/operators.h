// Sparse kernels of operators declared in yaml files other than sparse.yaml.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dispatch/operator.h"

namespace uh::sparse {

// arithmetic.cpp
Tensor add(KeySet, const Operand& self, const Operand& other, const Scalar& alpha);
void add_in_place(KeySet, const Tensor& self, const Operand& other, const Scalar& alpha);
Tensor sub(KeySet, const Operand& self, const Operand& other, const Scalar& alpha);
void sub_in_place(KeySet, const Tensor& self, const Operand& other, const Scalar& alpha);
Tensor mul(KeySet, const Operand& self, const Operand& other);
void mul_in_place(KeySet, const Tensor& self, const Operand& other);
Tensor div(KeySet, const Operand& self, const Operand& other);
void div_in_place(KeySet, const Tensor& self, const Operand& other);
Tensor floor_divide(KeySet, const Operand& self, const Operand& other);
Tensor pow(KeySet, const Operand& self, const Operand& exponent);
Tensor neg(KeySet, const Tensor& self);
void neg_in_place(KeySet, const Tensor& self);
Tensor sum(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim, DType dtype);
Tensor norm(KeySet, const Tensor& self, const Scalar& p);
Tensor any(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool keepdim);

// products.cpp
Tensor mm(KeySet, const Tensor& self, const Tensor& mat2);
Tensor mv(KeySet, const Tensor& self, const Tensor& vec);
Tensor addmm(KeySet, const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha);
Tensor matmul(KeySet, const Tensor& self, const Tensor& other);

// arrange.cpp
Tensor detach(KeySet, const Tensor& self);
Tensor clone(KeySet, const Tensor& self, MemoryFormat format);
Tensor to_copy(KeySet, const Tensor& self, DType dtype, Device device, MemoryFormat format);
void copy_(KeySet, const Tensor& self, const Tensor& src, bool non_blocking);
void zero_(KeySet, const Tensor& self);
Tensor zeros_like(KeySet, const Tensor& self, DType dtype, Device device, MemoryFormat format);
Tensor new_zeros(KeySet, const Tensor& self, const Dims& size, DType dtype, Device device);
Tensor t(KeySet, const Tensor& self);
Tensor transpose(KeySet, const Tensor& self, int64_t dim0, int64_t dim1);
Tensor permute(KeySet, const Tensor& self, const Dims& dims);
Tensor unsqueeze(KeySet, const Tensor& self, int64_t dim);
Tensor select(KeySet, const Tensor& self, int64_t dim, int64_t index);
std::vector<Tensor> unbind(KeySet, const Tensor& self, int64_t dim);
Tensor index_select(KeySet, const Tensor& self, int64_t dim, const Tensor& index);
Tensor cat(KeySet, const std::vector<Tensor>& tensors, int64_t dim);
Tensor stack(KeySet, const std::vector<Tensor>& tensors, int64_t dim);

// The kernel of every other operator: applies it to the values if it is tagged zero_preserving,
// else throws.
void fallback(OperatorInfo& op, Key key, Stack& stack);

// Registers all of these once.
void register_operators();

}  // namespace uh::sparse
