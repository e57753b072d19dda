// SparseParts: the tensors that a sparse tensor consists of.
//
// Note [Sparse tensors]: a sparse tensor stores some of its elements, with the place of each. It
// has no bytes: its Storage is empty, knows the device and counts versions. All that it stores is
// in its parts, which are tensors with elements at strides. A kernel for such tensors
// never sees a sparse one: its key, SparseCPU or SparseCsrCPU, is above CPU, and every operator
// without a sparse kernel has a fallback there that refuses. A request for its address all the
// same is an error of TensorImpl::data().
// Invariant: the shapes and dtypes of the parts fit each other and the sizes. The indices are
// within the sizes only where check_indices (backend/cpu/sparse/parts.h) has looked: their elements
// are anyone's to write.
#pragma once

#include "tensor/tensor.h"

namespace uh {

struct SparseParts {
  // The part that a tensor is: field `position` of TENSOR_RETAIN.
  enum class Role : int8_t { kIndices, kValues, kCrowIndices, kColIndices };

  // COO: column n has the place of values[n]; (sparse dimensions, number of values), int64.
  // CSR: the column of each value, int32 or int64.
  Tensor indices;
  // COO: one more dimension than the tensor has dense ones. CSR: one number for each.
  Tensor values;
  Tensor crow_indices;        // CSR: row r has the values crow_indices[r] .. crow_indices[r + 1]
  bool is_coalesced = false;  // COO: places are in order, and none occurs twice

  bool is_csr() const { return static_cast<bool>(crow_indices); }
  Key key() const { return is_csr() ? Key::kSparseCsrCPU : Key::kSparseCPU; }
  int64_t nnz() const { return values.size(0); }  // of values that are stored
  int64_t sparse_dim() const { return is_csr() ? 2 : indices.size(0); }
  int64_t dense_dim() const { return values.ndim() - 1; }

  template <class F>
  void each(const F& f) const {
    if (is_csr()) f(Role::kCrowIndices, crow_indices);
    f(is_csr() ? Role::kColIndices : Role::kIndices, indices);
    f(Role::kValues, values);
  }
};

// A new sparse tensor with these parts. They are shared as they are, without their history.
Tensor sparse_tensor(const Dims& sizes, const SparseParts& parts);

}  // namespace uh
