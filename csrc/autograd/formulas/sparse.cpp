#include "autograd/formulas/sparse.h"

#include "generated/ops/comparison.h"
#include "generated/ops/creation.h"
#include "generated/ops/gather.h"
#include "generated/ops/index_write.h"
#include "generated/ops/masked.h"
#include "generated/ops/scatter.h"
#include "generated/ops/transcendental.h"
#include "tensor/sparse_parts.h"

namespace uh::autograd {
namespace {

bool is_csr(const Tensor& t) { return t.keys().has(Key::kSparseCsrCPU); }
Tensor coalesced(const Tensor& t) { return t.keys().has(Key::kSparseCPU) ? ops::_coalesce(t) : t; }

// A sparse tensor with the same indices and other values.
Tensor with_values(const Tensor& sparse, const Tensor& values) {
  if (is_csr(sparse))
    return ops::_sparse_csr_tensor(ops::crow_indices(sparse), ops::col_indices(sparse), values,
                                   sparse.sizes());
  const SparseParts& parts = *sparse.impl()->sparse();
  return ops::_sparse_coo_tensor_with_dims_and_tensors(parts.sparse_dim(), parts.dense_dim(),
                                                       sparse.sizes(), ops::_indices(sparse),
                                                       values, parts.is_coalesced);
}

Tensor in_layout(const Tensor& grad, bool csr) {
  return csr ? ops::_to_sparse_csr(grad) : ops::_to_sparse(grad, 2);
}

}  // namespace

Tensor dense_gradient(const Tensor& grad) { return grad.is_sparse() ? ops::_to_dense(grad) : grad; }

Tensor to_layout_of(const Tensor& grad, const TensorInfo& self) {
  const KeySet layout = self.keys() & kSparseKeys;
  if (layout.empty()) return dense_gradient(grad);
  if ((grad.keys() & layout).bits()) return grad;
  return in_layout(grad, layout.has(Key::kSparseCsrCPU));
}

Tensor to_dense_backward(const Tensor& grad, const Tensor& self, bool masked) {
  if (masked || grad.is_sparse()) return ops::sparse_mask(grad, coalesced(self));
  return is_csr(self) ? ops::_to_sparse_csr(grad)
                      : ops::_to_sparse(grad, self.impl()->sparse()->sparse_dim());
}

Tensor sparse_mask_backward(const Tensor& grad, const TensorInfo& self) {
  return (self.keys() & kSparseKeys).empty() ? dense_gradient(grad) : grad;
}

Tensor values_backward(const Tensor& grad, const Tensor& self) { return with_values(self, grad); }

Tensor spmm_gradient_of_sparse(const Tensor& grad, const Tensor& self, const Tensor& mat2,
                               bool transpose) {
  const Tensor positions = coalesced(self), other = conj(mat2);
  return transpose ? ops::_sampled_mm(positions, other, grad)
                   : ops::_sampled_mm(positions, grad, other);
}

namespace {

bool chooses(std::string_view reduce) { return reduce != "sum" && reduce != "mean"; }

// The gradient of the rows' sums.
Tensor gradient_of_sums(const Tensor& grad, const Tensor& self, std::string_view reduce) {
  if (reduce == "sum") return grad;
  const Tensor bounds = ops::crow_indices(self);
  const int64_t rows = self.size(0);
  const Tensor counts =
      ops::sub(ops::narrow(bounds, 0, 1, rows), ops::narrow(bounds, 0, 0, rows), Scalar(1));
  return ops::div(grad, ops::unsqueeze(ops::clamp_min(counts, Scalar(1)), 1));
}

// For each element of the result: the value of the sparse matrix that was selected for it, the
// column of that value, and the gradient, which is 0 if no value was selected.
struct Selected {
  Tensor values, columns, grad;
};
Selected selected_of(const Tensor& grad, const Tensor& self, const Tensor& selected) {
  const Tensor at = ops::clamp_min(selected, Scalar(0));
  return {at, ops::view(ops::index_select(ops::col_indices(self), 0, ops::flatten(at, 0, -1)), at.sizes()),
          ops::mul(grad, ops::ge(selected, Scalar(0)))};
}

}  // namespace

Tensor reduced_product_gradient_of_sparse(const Tensor& grad, const Tensor& self,
                                          const Tensor& other, std::string_view reduce,
                                          const Tensor& selected) {
  if (!chooses(reduce))
    return spmm_gradient_of_sparse(gradient_of_sums(grad, self, reduce), self, other, false);
  const Tensor values = ops::zeros_like(self.impl()->sparse()->values);
  if (values.numel() == 0) return with_values(self, values);
  const Selected each = selected_of(grad, self, selected);
  const Tensor products = ops::mul(each.grad, ops::gather(other, 0, each.columns));
  return with_values(self, ops::index_add(values, 0, ops::flatten(each.values, 0, -1),
                                          ops::flatten(products, 0, -1), Scalar(1)));
}

Tensor reduced_product_gradient_of_dense(const Tensor& grad, const Tensor& self,
                                         const Tensor& other, std::string_view reduce,
                                         const Tensor& selected) {
  if (!chooses(reduce)) return ops::_spmm(self, gradient_of_sums(grad, self, reduce), true);
  const Tensor values = ops::sparse_values(self);
  if (values.numel() == 0) return ops::zeros_like(other);
  const Selected each = selected_of(grad, self, selected);
  const Tensor factors =
      ops::view(ops::index_select(values, 0, ops::flatten(each.values, 0, -1)), selected.sizes());
  return ops::scatter_add(ops::zeros_like(other), 0, each.columns, ops::mul(each.grad, factors));
}

Tensor transposed(const Tensor& matrix) {
  if (!is_csr(matrix)) return ops::t(matrix);
  return ops::_to_sparse_csr(ops::t(ops::_to_sparse(matrix, 2)));
}

Tensor sparse_product_gradient_of_left(const Tensor& grad, const Tensor& self,
                                       const Tensor& other) {
  const Tensor sparse = grad.is_sparse() ? grad : in_layout(grad, is_csr(self));
  return ops::sparse_mask(ops::_sparse_sparse_matmul(sparse, conj(transposed(other))),
                          coalesced(self));
}

Tensor sparse_product_gradient_of_right(const Tensor& grad, const Tensor& self,
                                        const Tensor& other) {
  const Tensor sparse = grad.is_sparse() ? grad : in_layout(grad, is_csr(self));
  return ops::sparse_mask(ops::_sparse_sparse_matmul(conj(transposed(self)), sparse),
                          coalesced(other));
}

Tensor sparse_softmax_backward(const Tensor& grad, const Tensor& result, int64_t dim) {
  const Tensor arrived = ops::sparse_mask(grad, result);
  return result * (arrived - ops::_sparse_group_sum(arrived * result, dim));
}

Tensor sparse_log_softmax_backward(const Tensor& grad, const Tensor& result, int64_t dim) {
  const Tensor arrived = ops::sparse_mask(grad, result);
  const Tensor softmax = with_values(result, ops::exp(ops::sparse_values(result)));
  return arrived - softmax * ops::_sparse_group_sum(arrived, dim);
}

Tensor rows_gradient(const Tensor& grad, const Tensor& indices, int64_t rows, int64_t padding) {
  Tensor read = ops::_to_copy(ops::reshape(indices, Dims{-1}), DType::kInt64, Device::kUndefined,
                              MemoryFormat::kUndefined);
  Tensor values = ops::reshape(grad, Dims{read.numel(), grad.size(grad.ndim() - 1)});
  if (padding != -1) {
    const Tensor counted = ops::reshape(ops::nonzero(ops::ne(read, Scalar(padding))), Dims{-1});
    read = ops::index_select(read, 0, counted);
    values = ops::index_select(values, 0, counted);
  }
  const Dims sizes{rows, values.size(1)};
  return ops::_sparse_coo_tensor_with_dims_and_tensors(1, 1, sizes, ops::unsqueeze(read, 0), values,
                                                       false);
}

}  // namespace uh::autograd
