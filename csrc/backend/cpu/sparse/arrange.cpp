// Copies of sparse tensors, and views of them as copies with other indices.
#include <algorithm>
#include <numeric>

#include "backend/cpu/sparse/operators.h"
#include "backend/cpu/sparse/parts.h"
#include "generated/kernels/sparse.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/gather.h"
#include "generated/ops/join.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"
#include "ops/view/layouts.h"

namespace uh::sparse {
namespace {

const SparseParts& parts_of(const Tensor& t) { return *t.impl()->sparse(); }

Tensor copied(const Tensor& t) { return ops::clone(t, MemoryFormat::kUndefined); }

void check_coo(const Tensor& t, std::string_view op, std::string_view advice) {
  check_kind(is_coo(t), ErrorKind::kNotImplemented, op, ": not supported for layout ",
             layout_title(t), ": ", advice);
}

constexpr std::string_view kUseCoo = "use x.to_sparse_coo() first";

// Returns the rows of `indices` in another order; -1 is a row of zeros.
Tensor rows_of(const Tensor& indices, const Dims& order) {
  const int64_t nnz = indices.size(1);
  const Tensor from = plain(indices);
  const Tensor result = empty(Dims{order.ndim(), nnz}, DType::kInt64);
  for (int64_t r = 0; r < order.ndim(); ++r) {
    int64_t* to = result.data_as<int64_t>() + r * nnz;
    const int64_t row = order[static_cast<size_t>(r)];
    if (row < 0)
      std::fill_n(to, nnz, 0);
    else
      std::copy_n(from.data_as<int64_t>() + row * nnz, nnz, to);
  }
  record_write(result);
  return result;
}

// Returns the entries at these positions with new indices in dimension `dim`; without new indices
// that dimension is removed.
Tensor entries(const Checked& coo, const std::vector<int64_t>& positions, int64_t dim,
               const std::vector<int64_t>* along, const Dims& sizes, bool is_coalesced) {
  const auto n = static_cast<int64_t>(positions.size());
  const int64_t rows = coo.sparse_dim() - !along;
  const Tensor indices = empty(Dims{rows, n}, DType::kInt64);
  for (int64_t d = 0, r = 0; d < coo.sparse_dim(); ++d) {
    if (d == dim && !along) continue;
    int64_t* to = indices.data_as<int64_t>() + r++ * n;
    for (size_t i = 0; i < positions.size(); ++i)
      to[i] = d == dim ? (*along)[i] : coo.index(d)[positions[i]];
  }
  const Tensor rows_of_values = empty(Dims{n}, DType::kInt64);
  std::copy(positions.begin(), positions.end(), rows_of_values.data_as<int64_t>());
  record_write(indices);
  record_write(rows_of_values);
  return make_coo(sizes, indices, ops::index_select(coo.values, 0, rows_of_values), is_coalesced);
}

}  // namespace

Tensor detach(KeySet, const Tensor& self) { return uh::alias(self, self.impl()->layout()); }

Tensor clone(KeySet, const Tensor& self, MemoryFormat format) {
  check(format == MemoryFormat::kUndefined, "unsupported memory format option ",
        format == MemoryFormat::kPreserve ? "Preserve" : "Contiguous");
  SparseParts parts = parts_of(self);
  parts.indices = copied(parts.indices);
  parts.values = copied(parts.values);
  if (parts.is_csr()) parts.crow_indices = copied(parts.crow_indices);
  return sparse_tensor(self.sizes(), parts);
}

Tensor to_copy(KeySet, const Tensor& self, DType dtype, Device device, MemoryFormat) {
  check_kind(device == Device::kUndefined || device == Device::kCPU, ErrorKind::kNotImplemented,
             "to: sparse tensors are on the CPU only: convert this one with x.to_dense() first");
  const Tensor copy = clone(KeySet(), self, MemoryFormat::kUndefined);
  if (dtype == DType::kUndefined || dtype == self.dtype()) return copy;
  return with_values(copy, ops::_to_copy(parts_of(self).values, dtype, Device::kUndefined,
                                         MemoryFormat::kUndefined));
}

void copy_(KeySet, const Tensor& self, const Tensor& src, bool) {
  if (self.is_same(src)) return;
  const bool same_layout = self.is_sparse() && src.is_sparse() && is_csr(self) == is_csr(src);
  check(same_layout || is_csr(self) || is_csr(src),
        "copy_() between dense and sparse Tensors is not implemented! Found self type = ",
        self.is_sparse() ? "torch.sparse." : "torch.", info(self.dtype()).title,
        "Tensor and src type = ", src.is_sparse() ? "torch.sparse." : "torch.",
        info(src.dtype()).title, "Tensor");
  check(same_layout,
        "torch.copy_: copy of sparse compressed tensors having different layouts is not "
        "supported. self layout is ",
        layout_title(self), " and src layout is ", layout_title(src));
  const Tensor copy =
      to_copy(KeySet(), src, self.dtype(), Device::kUndefined, MemoryFormat::kUndefined);
  self.impl()->set_sparse(parts_of(copy), src.sizes());
}

void zero_(KeySet, const Tensor& self) {
  const Tensor none = is_csr(self)
                          ? empty_csr(self.sizes(), self.dtype())
                          : empty_coo(self.sizes(), parts_of(self).sparse_dim(), self.dtype());
  self.impl()->set_sparse(parts_of(none), self.sizes());
}

Tensor zeros_like(KeySet, const Tensor& self, DType dtype, Device device, MemoryFormat) {
  if (device != Device::kUndefined && device != Device::kCPU)
    fail(ErrorKind::kNotImplemented, "zeros_like: sparse tensors are on the CPU only");
  const DType kind = dtype == DType::kUndefined ? self.dtype() : dtype;
  if (is_csr(self)) return empty_csr(self.sizes(), kind);
  return empty_coo(self.sizes(), parts_of(self).sparse_dim(), kind);
}

Tensor new_zeros(KeySet, const Tensor& self, const Dims& size, DType dtype, Device) {
  const DType kind = dtype == DType::kUndefined ? self.dtype() : dtype;
  checked_numel(size, "new_zeros");
  return is_csr(self) ? empty_csr(size, kind) : empty_coo(size, size.ndim(), kind);
}

Tensor permute(KeySet, const Tensor& self, const Dims& dims) {
  check_coo(self, "permute",
            "the result would be CSC, which is not here: use x.to_sparse_coo() first");
  const SparseParts& parts = parts_of(self);
  const int64_t sparse_dim = parts.sparse_dim();
  check(
      dims.ndim() == self.ndim(),
      "permute(sparse_coo): number of dimensions in the tensor input does not match the length of "
      "the desired ordering of dimensions i.e. input.dim() = ",
      self.ndim(), " is not equal to len(dims) = ", dims.ndim());
  Dims sizes, rows, value_dims{0};
  std::vector<bool> seen(dims.size(), false);
  bool crosses = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t d = wrap_dim(dims[i], self.ndim());
    check(!seen[static_cast<size_t>(d)], "permute(sparse_coo): duplicate dims are not allowed.");
    seen[static_cast<size_t>(d)] = true;
    sizes.push_back(self.size(d));
    crosses = crosses || (d < sparse_dim) != (static_cast<int64_t>(i) < sparse_dim);
    if (static_cast<int64_t>(i) < sparse_dim)
      rows.push_back(d);
    else
      value_dims.push_back(d - sparse_dim + 1);
  }
  check(!crosses,
        "permute(sparse_coo): transpositions between sparse and dense dimensions are not "
        "allowed.Only "
        "transpositions within sparse and dense dimensions are supported.");
  const bool in_order = std::is_sorted(rows.begin(), rows.end());
  return make_coo(sizes, in_order ? parts.indices : rows_of(parts.indices, rows),
                  ops::permute(parts.values, value_dims), parts.is_coalesced && in_order);
}

Tensor transpose(KeySet keys, const Tensor& self, int64_t dim0, int64_t dim1) {
  const int64_t a = wrap_dim(dim0, self.ndim()), b = wrap_dim(dim1, self.ndim());
  if (is_csr(self) && a == b) return detach(keys, self);
  check_coo(self, "transpose",
            "the result would be CSC, which is not here: use x.to_sparse_coo() first");
  const int64_t sparse_dim = parts_of(self).sparse_dim();
  check((a < sparse_dim && b < sparse_dim) || self.ndim() == 0,
        "sparse transpose: transposed dimensions must be sparse Got sparse_dim: ", sparse_dim,
        ", d0: ", a, ", d1: ", b);
  Dims order(static_cast<size_t>(self.ndim()));
  std::iota(order.begin(), order.end(), 0);
  if (self.ndim()) std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  return permute(keys, self, order);
}

Tensor t(KeySet keys, const Tensor& self) {
  if (is_coo(self)) {
    const SparseParts& parts = parts_of(self);
    check(parts.sparse_dim() <= 2 && parts.dense_dim() == 0,
          "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got ",
          parts.sparse_dim(), " sparse and ", parts.dense_dim(), " dense dimensions");
    if (self.ndim() < 2) return detach(keys, self);
  }
  return transpose(keys, self, 0, 1);
}

Tensor unsqueeze(KeySet, const Tensor& self, int64_t dim) {
  check_coo(self, "unsqueeze", kUseCoo);
  const SparseParts& parts = parts_of(self);
  const int64_t d = wrap_dim(dim, self.ndim() + 1), sparse_dim = parts.sparse_dim();
  Dims sizes = self.sizes();
  sizes.insert(static_cast<size_t>(d), 1);
  if (d > sparse_dim)
    return make_coo(sizes, parts.indices, ops::unsqueeze(parts.values, d - sparse_dim + 1),
                    parts.is_coalesced);
  Dims rows(static_cast<size_t>(sparse_dim));
  std::iota(rows.begin(), rows.end(), 0);
  rows.insert(static_cast<size_t>(d), -1);
  return make_coo(sizes, rows_of(parts.indices, rows), parts.values, parts.is_coalesced);
}

Tensor select(KeySet, const Tensor& self, int64_t dim, int64_t index) {
  check_kind(self.ndim() > 0, ErrorKind::kIndex, "select() cannot be applied to a 0-dim tensor.");
  const int64_t d = wrap_dim(dim, self.ndim()), size = self.size(d);
  check_kind(index >= -size && index < size, ErrorKind::kIndex, "select(): index ", index,
             " out of range for tensor of size ", self.sizes(), " at dimension ", d);
  const int64_t at = index < 0 ? index + size : index;
  Dims sizes = self.sizes();
  sizes.erase(static_cast<size_t>(d));
  const Tensor coo_tensor = coo_of(self);
  const int64_t sparse_dim = parts_of(coo_tensor).sparse_dim();
  if (d >= sparse_dim) {
    const SparseParts& parts = parts_of(coo_tensor);
    return make_coo(sizes, parts.indices, ops::select(parts.values, d - sparse_dim + 1, at),
                    parts.is_coalesced);
  }
  const Checked coo = checked(coo_tensor);
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < coo.nnz(); ++i)
    if (coo.index(d)[i] == at) positions.push_back(i);
  const Tensor slice_of_it = entries(coo, positions, d, nullptr, sizes, coo.is_coalesced);
  if (sparse_dim > 1) return slice_of_it;
  // No sparse dimension remains: returns the sum of the values.
  return ops::sum(parts_of(slice_of_it).values, Dims{0}, false, self.dtype());
}

std::vector<Tensor> unbind(KeySet keys, const Tensor& self, int64_t dim) {
  const int64_t d = wrap_dim(dim, self.ndim());
  layouts::check_pieces(self.size(d), self.size(d), "unbind");
  std::vector<Tensor> slices;
  for (int64_t i = 0; i < self.size(d); ++i) slices.push_back(select(keys, self, d, i));
  return slices;
}

Tensor index_select(KeySet, const Tensor& self, int64_t dim, const Tensor& index) {
  check_coo(self, "index_select", kUseCoo);
  check_on_host("index_select", index);
  check_kind(index.ndim() == 1 && !index.is_sparse() && is_integral(index.dtype()),
             ErrorKind::kIndex,
             "index_select() argument index must be 1-D strided (non-sparse) long-tensor.");
  const int64_t d = wrap_dim(dim, self.ndim());
  const int64_t size = self.size(d), count = index.size(0);
  const Tensor requested = plain(index, DType::kInt64);
  std::vector<int64_t> selected(requested.data_as<int64_t>(), requested.data_as<int64_t>() + count);
  for (int64_t& each : selected) {
    check_kind(each >= -size && each < size, ErrorKind::kIndex, "index_select(): index contains ",
               each, " that is out of range for tensor of size ", self.sizes(), " at dimension ",
               d);
    each += each < 0 ? size : 0;
  }
  Dims sizes = self.sizes();
  sizes[static_cast<size_t>(d)] = count;
  const Checked coo = checked(self);
  if (d >= coo.sparse_dim()) {
    const Tensor at = empty(Dims{count}, DType::kInt64);
    std::copy(selected.begin(), selected.end(), at.data_as<int64_t>());
    return make_coo(sizes, coo.indices, ops::index_select(coo.values, d - coo.sparse_dim() + 1, at),
                    coo.is_coalesced);
  }
  // Orders the entries by slice, so that those of a selected slice are contiguous.
  const int64_t* along = coo.index(d);
  const std::vector<int64_t> slices(along, along + coo.nnz());
  const std::vector<int64_t> order = sorting_order(slices);
  std::vector<int64_t> sorted, positions, moved;
  for (const int64_t entry : order) sorted.push_back(along[entry]);
  for (int64_t k = 0; k < count; ++k) {
    const auto [first, last] =
        std::equal_range(sorted.begin(), sorted.end(), selected[static_cast<size_t>(k)]);
    for (auto i = first; i != last; ++i) {
      positions.push_back(order[static_cast<size_t>(i - sorted.begin())]);
      moved.push_back(k);
    }
  }
  return entries(coo, positions, d, &moved, sizes, coo.is_coalesced && d == 0);
}

Tensor cat(KeySet, const std::vector<Tensor>& tensors, int64_t dim) {
  const Tensor& first = tensors[0];
  for (size_t i = 0; i < tensors.size(); ++i) {
    check(is_coo(tensors[i]) || tensors[i].is_sparse(),
          "Concatenating sparse tensors, but a dense "
          "tensor was found at position ",
          i, ".");
    check_coo(tensors[i], "cat", kUseCoo);
  }
  const int64_t d = wrap_dim(dim, first.ndim()), sparse_dim = parts_of(first).sparse_dim();
  Dims sizes = first.sizes();
  DType dtype = first.dtype();
  sizes[static_cast<size_t>(d)] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Dims others = tensors[i].sizes();
    const bool same_rank = others.size() == sizes.size();
    const int64_t along = same_rank ? others[static_cast<size_t>(d)] : 0;
    if (same_rank) others[static_cast<size_t>(d)] = sizes[static_cast<size_t>(d)];
    check(same_rank && others == sizes, "All tensors must have the same shape: ", first.sizes(),
          " (except in the concatenating dimension), but found shape: ", tensors[i].sizes(),
          " at position ", i, ".");
    check(parts_of(tensors[i]).sparse_dim() == sparse_dim,
          "All tensors must have the same sparse_dim: ", sparse_dim, ", but tensor at position ", i,
          " has ", parts_of(tensors[i]).sparse_dim(), ".");
    sizes[static_cast<size_t>(d)] += along;
    dtype = promote(dtype, tensors[i].dtype());
  }
  // Sizes were compared with the joined ones: the others have the shape of the first.
  std::vector<Tensor> indices, values;
  int64_t offset = 0;
  for (const Tensor& t : tensors) {
    const SparseParts& parts = parts_of(t);
    Tensor value =
        ops::_to_copy(parts.values, dtype, Device::kUndefined, MemoryFormat::kContiguous);
    if (d >= sparse_dim) {
      Dims wide = value.sizes();
      const auto at = static_cast<size_t>(d - sparse_dim + 1);
      wide[at] = sizes[static_cast<size_t>(d)];
      const Tensor padded = ops::zeros(wide, dtype, Device::kCPU);
      Layout part = padded.impl()->layout();
      part.sizes = value.sizes();
      part.offset += offset * part.strides[at];
      ops::copy_(uh::alias(padded, part), value, false);
      value = padded;
      indices.push_back(parts.indices);
    } else {
      const Tensor moved = ops::clone(parts.indices, MemoryFormat::kContiguous);
      const int64_t nnz = moved.size(1);
      for (int64_t i = 0; i < nnz; ++i) moved.data_as<int64_t>()[d * nnz + i] += offset;
      record_write(moved);
      indices.push_back(moved);
    }
    values.push_back(value);
    offset += t.size(d);
  }
  return make_coo(sizes, ops::cat(indices, 1), ops::cat(values, 0), false);
}

Tensor stack(KeySet keys, const std::vector<Tensor>& tensors, int64_t dim) {
  std::vector<Tensor> deeper;
  for (const Tensor& t : tensors) deeper.push_back(t.is_sparse() ? unsqueeze(keys, t, dim) : t);
  return cat(keys, deeper, dim);
}

}  // namespace uh::sparse
