#include "backend/cpu/sparse/parts.h"

#include "backend/cpu/index_loops.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "memory/device_registry.h"

namespace uh::sparse {
namespace {

void check_indices(const Tensor& indices, IntSpan sizes) {
  const int64_t nnz = indices.size(1);
  for (int64_t d = 0; d < indices.size(0); ++d) {
    const int64_t* index = indices.data_as<int64_t>() + d * nnz;
    const int64_t size = sizes[static_cast<size_t>(d)];
    const int64_t bad = index_loops().outside(index, nnz, 0, size);
    if (bad == nnz) continue;
    check(index[bad] >= 0, "found negative index ", index[bad], " for dim ", d);
    fail(ErrorKind::kRuntime, "size is inconsistent with indices: for dim ", d, ", size is ", size,
         " but found index ", index[bad]);
  }
}

void check_rows(const Checked& csr) {
  const int64_t rows = csr.sizes[0], nnz = csr.nnz();
  const int64_t* bounds = csr.rows();
  check(bounds[0] == 0, "`crow_indices[..., 0] == 0` is not satisfied.");
  check(bounds[rows] == nnz, "`crow_indices[..., -1] == nnz` is not satisfied.");
  bool in_order = true;
  for (int64_t r = 0; r < rows; ++r) in_order = in_order && bounds[r] <= bounds[r + 1];
  check(in_order,
        "`0 <= crow_indices[..., 1:] - crow_indices[..., :-1] <= ncols` is not satisfied.");
  check(index_loops().outside(csr.columns(), nnz, 0, csr.sizes[1]) == nnz,
        "`0 <= col_indices < ncols` is not satisfied.");
}

}  // namespace

std::string_view layout_title(const Tensor& t) {
  return is_coo(t) ? "Sparse" : is_csr(t) ? "SparseCsr" : "Strided";
}

void check_on_host(std::string_view op, const Tensor& t) {
  check_kind(t.device() == Device::kCPU, ErrorKind::kNotImplemented, op,
             ": sparse tensors are on the CPU only, and one argument is on ", name(t.device()),
             ": move it with x.cpu()");
}

int64_t Checked::block() const {
  if (values.numel() == 0) return 0;  // sizes whose product may overflow
  int64_t elements = 1;
  for (int64_t d = 1; d < values.ndim(); ++d) elements *= values.size(d);
  return elements;
}

Tensor plain(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t.is_contiguous() ? t : ops::clone(t, MemoryFormat::kContiguous);
  return ops::_to_copy(t, dtype, Device::kUndefined, MemoryFormat::kContiguous);
}

Checked checked(const Tensor& sparse) {
  const SparseParts& parts = *sparse.impl()->sparse();
  Checked result{sparse.sizes(), plain(parts.indices, DType::kInt64), plain(parts.values),
                 parts.is_csr() ? plain(parts.crow_indices, DType::kInt64) : Tensor(),
                 parts.is_coalesced};
  if (parts.is_csr())
    check_rows(result);
  else
    check_indices(result.indices, result.sizes);
  return result;
}

Checked checked_coalesced(const Tensor& coo) { return checked(coalesced(coo)); }

std::vector<int64_t> place_numbers(const Tensor& indices, IntSpan sizes) {
  const int64_t nnz = indices.size(1);
  std::vector<int64_t> numbers(static_cast<size_t>(nnz), 0);
  for (int64_t d = 0; d < indices.size(0); ++d) {
    const int64_t* index = indices.data_as<int64_t>() + d * nnz;
    const int64_t size = sizes[static_cast<size_t>(d)];
    for (int64_t i = 0; i < nnz; ++i) {
      int64_t& number = numbers[static_cast<size_t>(i)];
      number = number * size + index[i];
    }
  }
  return numbers;
}
std::vector<int64_t> place_numbers(const Checked& coo) {
  return place_numbers(coo.indices, coo.sizes);
}

Tensor make_coo(const Dims& sizes, Tensor indices, Tensor values, bool is_coalesced) {
  return sparse_tensor(sizes, {std::move(indices), std::move(values), Tensor(), is_coalesced});
}
Tensor make_csr(const Dims& sizes, Tensor crow_indices, Tensor col_indices, Tensor values) {
  return sparse_tensor(sizes, {std::move(col_indices), std::move(values), std::move(crow_indices)});
}

Tensor empty_coo(const Dims& sizes, int64_t sparse_dim, DType dtype) {
  Dims values{0};
  for (size_t d = static_cast<size_t>(sparse_dim); d < sizes.size(); ++d)
    values.push_back(sizes[d]);
  return make_coo(sizes, empty(Dims{sparse_dim, 0}, DType::kInt64), empty(values, dtype), true);
}
Tensor empty_csr(const Dims& sizes, DType dtype) {
  check(sizes.size() == 2,
        "torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got "
        "size ",
        sizes);
  return make_csr(sizes, ops::zeros(Dims{sizes[0] + 1}, DType::kInt64, Device::kCPU),
                  empty(Dims{0}, DType::kInt64), empty(Dims{0}, dtype));
}

Tensor with_values(const Tensor& sparse, Tensor values) {
  SparseParts parts = *sparse.impl()->sparse();
  parts.values = std::move(values);
  return sparse_tensor(sparse.sizes(), parts);
}

}  // namespace uh::sparse
