// SparseParts: the tensors that a sparse tensor consists of.
//
// Note [Sparse tensors]: a sparse tensor stores some of its elements and their
// indices. It has no bytes: its Storage is empty and has only the device and the
// version counter. All its data is in its parts, which are strided tensors. A
// kernel for strided tensors never gets a sparse one: its key, SparseCPU or
// SparseCsrCPU, ranks above CPU, and every operator without a sparse kernel has a
// fallback there that throws. TensorImpl::data() throws, too. Invariant: the shapes
// and dtypes of the parts match each other and the sizes. Indices are only known to
// be in range after check_indices (backend/cpu/sparse/parts.h): anyone may write
// their elements.
#pragma once

#include "tensor/tensor.h"

namespace uh {

struct SparseParts {
  // The role of a part: field `position` of TENSOR_RETAIN.
  enum class Role : int8_t {
#define UH_SPARSE_PART(enumerator, name) enumerator,
#include "events/codes.inc"
  };

  // COO: column n is the index of values[n]; (sparse dimensions, number of values), int64. CSR: the
  // column of each value, int32 or int64.
  Tensor indices;
  // COO: (number of values, dense dimensions...). CSR: one number per value.
  Tensor values;
  Tensor crow_indices;        // CSR: row r has the values crow_indices[r] .. crow_indices[r + 1]
  bool is_coalesced = false;  // COO: indices are sorted and unique

  bool is_csr() const { return static_cast<bool>(crow_indices); }
  Key key() const { return is_csr() ? Key::kSparseCsrCPU : Key::kSparseCPU; }
  int64_t nnz() const { return values.size(0); }  // number of stored values
  int64_t sparse_dim() const { return is_csr() ? 2 : indices.size(0); }
  int64_t dense_dim() const { return values.ndim() - 1; }

  template <class F>
  void each(const F& f) const {
    if (is_csr()) f(Role::kCrowIndices, crow_indices);
    f(is_csr() ? Role::kColIndices : Role::kIndices, indices);
    f(Role::kValues, values);
  }
};

// Makes a sparse tensor that shares these parts, without their history.
Tensor sparse_tensor(const Dims& sizes, const SparseParts& parts);

}  // namespace uh
