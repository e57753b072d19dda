// Construction of sparse tensors from their parts, and access to the parts.
#include "backend/cpu/sparse/parts.h"
#include "generated/kernels/sparse.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"

namespace uh::kernels {

using namespace sparse;  // NOLINT: all of this file is sparse

namespace {

void check_parts(const Tensor& t, std::string_view op, std::string_view part) {
  check_on_host(op, t);
  check(!t.is_sparse(), "expected ", part, " to be a dense tensor, but got ", part, " of layout ",
        layout_title(t));
}

std::string_view title(const Tensor& t) { return info(t.dtype()).title; }

// Throws unless the parts of a CSR tensor have consistent shapes and dtypes.
void check_csr(const Tensor& crow, const Tensor& col, const Tensor& values, const Dims& size) {
  check(crow.ndim() >= 1, "crow_indices must have dimensionality >= 1 but got ", crow.ndim());
  check_kind(crow.ndim() == 1, ErrorKind::kNotImplemented,
             "sparse_csr_tensor: batches of CSR matrices are not supported: crow_indices must be "
             "1-d, got shape ",
             crow.sizes());
  check(col.ndim() == 1, "crow_indices and col_indices dimensionalities must be equal but got ",
        crow.ndim(), " and ", col.ndim(), ", respectively");
  check(values.ndim() >= 1, "values must have dimensionality > sum of batch and block ",
        "dimensionalities (=0 + 0), but got ", values.ndim());
  const int64_t dense = values.ndim() - 1;
  check(size.ndim() == 2 + dense,
        "tensor dimensionality must be sum of batch, base, and dense dimensionalities (=0 + 2 + ",
        dense, ") but got ", size.ndim());
  check_kind(
      dense == 0, ErrorKind::kNotImplemented,
      "sparse_csr_tensor: dense dimensions are not supported: values must be 1-d, got shape ",
      values.sizes());
  check(crow.size(0) == size[0] + 1,
        "crow_indices.shape[-1] must be equal to the number of rows + 1 (=", size[0] + 1,
        "), but got ", crow.size(0));
  check(col.size(0) == values.size(0),
        "col_indices.shape[-1] must be equal to nnz (=", values.size(0),
        ") as defined by values.shape[0], but got ", col.size(0));
  check(crow.dtype() == col.dtype(),
        "crow_indices and col_indices must have the same dtype, bot got ", title(crow), " and ",
        title(col), ", respectively");
  check(crow.dtype() == DType::kInt32 || crow.dtype() == DType::kInt64,
        "crow_indices and col_indices dtype must be Int or Long, but got ", title(crow));
}

const SparseParts& parts_of(const Tensor& t) { return *t.impl()->sparse(); }
Tensor shared(const Tensor& part) { return alias(part, part.impl()->layout()); }

}  // namespace

Tensor sparse_coo_tensor(KeySet, int64_t sparse_dim, int64_t dense_dim, const Dims& size,
                         const Tensor& indices, const Tensor& values, bool is_coalesced) {
  check_parts(indices, "sparse_coo_tensor", "indices");
  check_parts(values, "sparse_coo_tensor", "values");
  check(indices.dtype() == DType::kInt64, "indices must be an int64 tensor");
  check(indices.ndim() == 2, "indices must be sparse_dim x nnz, but got: ", indices.sizes());
  check(values.ndim() >= 1 && indices.size(1) == values.size(0),
        "indices and values must have same nnz, but got nnz from indices: ", indices.size(1),
        ", nnz from values: ", values.ndim() ? values.size(0) : 1);
  check(sparse_dim == indices.size(0) && dense_dim == values.ndim() - 1 &&
            size.ndim() == sparse_dim + dense_dim,
        "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = ", size.ndim(),
        ", sparse_dim = ", indices.size(0), ", dense_dim = ", values.ndim() - 1);
  Dims expected{values.size(0)};
  for (size_t d = static_cast<size_t>(sparse_dim); d < size.size(); ++d)
    expected.push_back(size[d]);
  check(values.sizes() == expected, "values has incorrect size, expected ", expected, ", got ",
        values.sizes());
  return make_coo(size, indices, values, is_coalesced);
}

Tensor sparse_csr_tensor(KeySet, const Tensor& crow_indices, const Tensor& col_indices,
                         const Tensor& values, const Dims& size) {
  check_parts(crow_indices, "sparse_csr_tensor", "crow_indices");
  check_parts(col_indices, "sparse_csr_tensor", "col_indices");
  check_parts(values, "sparse_csr_tensor", "values");
  check_csr(crow_indices, col_indices, values, size);
  return make_csr(size, crow_indices, col_indices, values);
}

Tensor validate_sparse(KeySet, const Tensor& self) {
  const Checked parts = checked(self);
  if (is_csr(self)) {
    const int64_t* columns = parts.columns();
    bool in_order = true;
    for (int64_t r = 0; r < parts.sizes[0]; ++r)
      for (int64_t i = parts.rows()[r] + 1; i < parts.rows()[r + 1]; ++i)
        in_order = in_order && columns[i - 1] < columns[i];
    check(in_order,
          "`col_indices[..., crow_indices[..., i - 1]:crow_indices[..., i]] for all i = 1, ..., "
          "nrows are sorted and distinct along the last dimension values` is not satisfied.");
    return self;
  }
  if (!parts.is_coalesced) return self;
  const std::vector<int64_t> numbers = place_numbers(parts);
  for (size_t i = 1; i < numbers.size(); ++i)
    check(numbers[i - 1] < numbers[i],
          "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor");
  return self;
}

Tensor coo_indices(KeySet, const Tensor& self) { return shared(parts_of(self).indices); }
Tensor sparse_values(KeySet, const Tensor& self) { return shared(parts_of(self).values); }

Tensor indices_of_coalesced(KeySet, const Tensor& self) {
  check(is_coo(self), "indices expected sparse coordinate tensor layout but got ",
        layout_title(self));
  check(parts_of(self).is_coalesced,
        "Cannot get indices on an uncoalesced tensor, please call .coalesce() first");
  return shared(parts_of(self).indices);
}

Tensor values_of_coalesced(KeySet, const Tensor& self) {
  check(self.is_sparse(), "values expected sparse tensor layout but got Strided");
  check(is_csr(self) || parts_of(self).is_coalesced,
        "Cannot get values on an uncoalesced tensor, please call .coalesce() first");
  return shared(parts_of(self).values);
}

Tensor crow_indices(KeySet, const Tensor& self) {
  check(is_csr(self), "crow_indices expected sparse row compressed tensor layout but got ",
        layout_title(self));
  return shared(parts_of(self).crow_indices);
}

Tensor col_indices(KeySet, const Tensor& self) {
  check(is_csr(self), "col_indices expected sparse row compressed tensor layout but got ",
        layout_title(self));
  return shared(parts_of(self).indices);
}

namespace {

constexpr std::string_view kResizeHint =
    "\nYou could try the following options:\n1. If you need an empty sparse tensor of this size, "
    "call `x = torch.sparse_coo_tensor(size)`.\n2. If you need to resize this tensor, you have the "
    "following options:\n    1. For both sparse and dense dimensions, keep the number of them "
    "constant and the size of them non-shrinking, and then try the same call again.\n    2. Or, "
    "create a new sparse tensor with the correct indices and values from this sparse tensor.";

void check_dims(const Dims& size, int64_t sparse_dim, int64_t dense_dim) {
  check(sparse_dim >= 0 && dense_dim >= 0 && sparse_dim + dense_dim == size.ndim(),
        "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = ", size.ndim(),
        ", sparse_dim = ", sparse_dim, ", dense_dim = ", dense_dim);
  checked_numel(size, "sparse_resize_");
}

Dims part(const Dims& dims, size_t from, size_t to) {
  return Dims(IntSpan(dims.begin() + from, to - from));
}

}  // namespace

void sparse_resize(KeySet, const Tensor& self, const Dims& size, int64_t sparse_dim,
                   int64_t dense_dim) {
  check_dims(size, sparse_dim, dense_dim);
  SparseParts parts = parts_of(self);
  if (parts.nnz() == 0) return sparse_resize_and_clear(KeySet(), self, size, sparse_dim, dense_dim);
  check(sparse_dim == parts.sparse_dim(), "changing the number of sparse dimensions (from ",
        parts.sparse_dim(), " to ", sparse_dim, ") on a non-empty sparse tensor is not supported.",
        kResizeHint);
  check(dense_dim == parts.dense_dim(), "changing the number of dense dimensions (from ",
        parts.dense_dim(), " to ", dense_dim, ") on a non-empty sparse tensor is not supported.",
        kResizeHint);
  const auto split = static_cast<size_t>(sparse_dim), end = size.size();
  for (const auto& [from, to, kind] :
       {std::tuple{size_t{0}, split, "sparse"}, std::tuple{split, end, "dense"}}) {
    bool shrinks = false;
    for (size_t d = from; d < to; ++d) shrinks = shrinks || size[d] < self.sizes()[d];
    check(!shrinks, "shrinking the size of ", std::string_view(kind), " dimensions (from ",
          part(self.sizes(), from, to), " to ", part(size, from, to),
          ") on a non-empty sparse tensor is not supported.", kResizeHint);
  }
  Dims value_sizes{parts.nnz()};
  for (size_t d = split; d < end; ++d) value_sizes.push_back(size[d]);
  if (!(value_sizes == parts.values.sizes())) {
    Tensor wider = ops::zeros(value_sizes, parts.values.dtype(), Device::kCPU);
    Layout corner = wider.impl()->layout();
    corner.sizes = parts.values.sizes();
    ops::copy_(alias(wider, corner), parts.values, false);
    parts.values = wider;
  }
  self.impl()->set_sparse(parts, size);
}

void sparse_resize_and_clear(KeySet, const Tensor& self, const Dims& size, int64_t sparse_dim,
                             int64_t dense_dim) {
  check_dims(size, sparse_dim, dense_dim);
  self.impl()->set_sparse(*empty_coo(size, sparse_dim, self.dtype()).impl()->sparse(), size);
}

}  // namespace uh::kernels
