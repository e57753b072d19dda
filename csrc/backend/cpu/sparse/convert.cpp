// Conversions between dense, COO and CSR, and the elements at given positions.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "backend/cpu/sparse/parts.h"
#include "base/parallel.h"
#include "generated/kernels/sparse.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/view.h"

namespace uh::sparse {
namespace {

Tensor coalesce(const Checked& coo) {
  const std::vector<int64_t> numbers = place_numbers(coo);
  const std::vector<int64_t> order = sorting_order(numbers);
  // The start of each distinct index in that order.
  std::vector<int64_t> begins;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 ||
        numbers[static_cast<size_t>(order[i])] != numbers[static_cast<size_t>(order[i - 1])])
      begins.push_back(static_cast<int64_t>(i));
  }
  const auto positions = static_cast<int64_t>(begins.size());
  begins.push_back(static_cast<int64_t>(order.size()));
  Dims value_sizes = coo.values.sizes();
  value_sizes[0] = positions;
  const Tensor indices = empty(Dims{coo.sparse_dim(), positions}, DType::kInt64);
  const Tensor values = empty(value_sizes, coo.values.dtype());
  for (int64_t d = 0; d < coo.sparse_dim(); ++d) {
    int64_t* to = indices.data_as<int64_t>() + d * positions;
    for (int64_t p = 0; p < positions; ++p)
      to[p] = coo.index(d)[order[static_cast<size_t>(begins[static_cast<size_t>(p)])]];
  }
  const int64_t block = coo.block();
  visit_any(coo.values.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = coo.values.data_as<T>();
    T* to = values.data_as<T>();
    parallel_for(0, positions, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, block)),
                 [&](int64_t lo, int64_t hi) {
                   for (int64_t p = lo; p < hi; ++p) {
                     const int64_t* each = order.data() + begins[static_cast<size_t>(p)];
                     const int64_t* end = order.data() + begins[static_cast<size_t>(p) + 1];
                     T* sum = to + p * block;
                     std::copy_n(from + *each * block, block, sum);
                     for (++each; each != end; ++each)
                       for (int64_t j = 0; j < block; ++j)
                         sum[j] = plus_scaled(sum[j], from[*each * block + j], T(1));
                   }
                 });
  });
  record_write(indices);
  record_write(values);
  return make_coo(coo.sizes, indices, values, true);
}

// Returns where the values of each row begin, for sorted row indices.
Tensor row_bounds(const int64_t* rows, int64_t nnz, int64_t row_count) {
  const Tensor crow = ops::zeros(Dims{row_count + 1}, DType::kInt64, Device::kCPU);
  auto* bounds = crow.data_as<int64_t>();
  for (int64_t i = 0; i < nnz; ++i) ++bounds[rows[i] + 1];
  for (int64_t r = 0; r < row_count; ++r) bounds[r + 1] += bounds[r];
  return crow;
}

}  // namespace

// Radix sort: one pass per byte in which the numbers differ.
std::vector<int64_t> sorting_order(const std::vector<int64_t>& numbers) {
  const size_t n = numbers.size();
  std::vector<int64_t> order(n), next(n);
  std::iota(order.begin(), order.end(), 0);
  uint64_t differing = 0;
  for (size_t i = 1; i < n; ++i) differing |= static_cast<uint64_t>(numbers[i] ^ numbers[0]);
  for (int shift = 0; shift < 64; shift += 8) {
    if ((differing >> shift & 0xFF) == 0) continue;
    size_t starts[257] = {};
    const auto digit = [&](int64_t at) {
      return static_cast<uint64_t>(numbers[static_cast<size_t>(at)]) >> shift & 0xFF;
    };
    for (size_t i = 0; i < n; ++i) ++starts[digit(static_cast<int64_t>(i)) + 1];
    for (size_t d = 0; d < 256; ++d) starts[d + 1] += starts[d];
    for (const int64_t at : order) next[starts[digit(at)]++] = at;
    order.swap(next);
  }
  return order;
}

Tensor coalesced(const Tensor& coo) {
  if (coo.impl()->sparse()->is_coalesced) return coo;
  const Checked parts = checked(coo);
  if (parts.nnz() < 2) return make_coo(coo.sizes(), parts.indices, parts.values, true);
  return coalesce(parts);
}

Tensor coo_of(const Tensor& csr) {
  if (!is_csr(csr)) return csr;
  const Checked parts = checked(csr);
  const int64_t nnz = parts.nnz();
  const Tensor indices = empty(Dims{2, nnz}, DType::kInt64);
  auto* rows = indices.data_as<int64_t>();
  for (int64_t r = 0; r < parts.sizes[0]; ++r)
    std::fill(rows + parts.rows()[r], rows + parts.rows()[r + 1], r);
  std::copy_n(parts.columns(), nnz, rows + nnz);
  record_write(indices);
  bool in_order = true;  // the columns within a row may be in any order
  for (int64_t i = 1; i < nnz; ++i)
    in_order = in_order && (rows[i - 1] < rows[i] || parts.columns()[i - 1] < parts.columns()[i]);
  return make_coo(csr.sizes(), indices, parts.values, in_order);
}

Tensor csr_of(const Tensor& coo) {
  if (is_csr(coo)) return coo;
  const SparseParts& parts = *coo.impl()->sparse();
  check(parts.sparse_dim() == 2 && parts.dense_dim() == 0,
        "to_sparse_csr: expected a matrix with two sparse dimensions, got ", parts.sparse_dim(),
        " sparse and ", parts.dense_dim(), " dense ones");
  const Checked sorted = checked_coalesced(coo);
  const Tensor columns = ops::clone(ops::select(sorted.indices, 0, 1), MemoryFormat::kContiguous);
  return make_csr(coo.sizes(), row_bounds(sorted.index(0), sorted.nnz(), sorted.sizes[0]), columns,
                  sorted.values);
}

Tensor dense_of(const Tensor& sparse) {
  if (!sparse.is_sparse()) return sparse;
  const Checked coo = checked(coo_of(sparse));
  const Tensor dense = ops::zeros(coo.sizes, coo.values.dtype(), Device::kCPU);
  const std::vector<int64_t> numbers = place_numbers(coo);
  const int64_t block = coo.block();
  visit_any(coo.values.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = coo.values.data_as<T>();
    T* to = dense.data_as<T>();
    for (size_t i = 0; i < numbers.size(); ++i)
      for (int64_t j = 0; j < block; ++j)
        to[numbers[i] * block + j] = plus_scaled(to[numbers[i] * block + j],
                                                 from[static_cast<int64_t>(i) * block + j], T(1));
  });
  record_write(dense);
  return dense;
}

namespace {

// Copies block at[i] of `from` to block i of the result; -1 leaves it zero.
Tensor blocks_at(const std::vector<int64_t>& at, const Tensor& from, const Dims& sizes,
                 int64_t block) {
  const Tensor values = ops::zeros(sizes, from.dtype(), Device::kCPU);
  const int64_t bytes = block * itemsize(from.dtype());
  if (bytes == 0) return values;
  const std::byte* source = from.data();
  std::byte* to = values.data();
  parallel_for(0, static_cast<int64_t>(at.size()), std::max<int64_t>(1, kGrain / block),
               [&](int64_t lo, int64_t hi) {
                 for (int64_t i = lo; i < hi; ++i) {
                   const int64_t number = at[static_cast<size_t>(i)];
                   if (number < 0) continue;
                   std::memcpy(to + i * bytes, source + number * bytes, static_cast<size_t>(bytes));
                 }
               });
  record_write(values);
  return values;
}

Dims value_sizes_at(const Tensor& self, const Checked& at) {
  Dims sizes{at.nnz()};
  for (int64_t d = at.sparse_dim(); d < self.ndim(); ++d) sizes.push_back(self.size(d));
  return sizes;
}

}  // namespace

Tensor values_at(const Tensor& self, const Checked& at, std::string_view op) {
  check(self.sizes() == at.sizes, op, ": operands have incompatible sizes; self has size ",
        self.sizes(), " but mask has size ", at.sizes);
  std::vector<int64_t> numbers = place_numbers(at);
  if (!self.is_sparse())
    return blocks_at(numbers, plain(self), value_sizes_at(self, at), at.block());
  const Checked source = checked_coalesced(coo_of(self));
  check(source.sparse_dim() == at.sparse_dim(), op,
        ": expected the same number of sparse dimensions, got ", source.sparse_dim(), " and ",
        at.sparse_dim());
  const std::vector<int64_t> known = place_numbers(source);
  for (int64_t& number : numbers) {
    const auto match = std::lower_bound(known.begin(), known.end(), number);
    number = match != known.end() && *match == number ? match - known.begin() : -1;
  }
  return blocks_at(numbers, source.values, value_sizes_at(self, at), source.block());
}

}  // namespace uh::sparse

namespace uh::kernels {

using namespace sparse;  // NOLINT: all of this file is sparse

Tensor coalesce(KeySet, const Tensor& self) { return coalesced(self); }

Tensor sparse_to_dense(KeySet, const Tensor& self, bool) { return dense_of(self); }

namespace {

// Returns the elements of a strided tensor with a non-zero in any dense dimension.
Tensor sparse_of(const Tensor& strided, int64_t sparse_dim) {
  const Tensor self = plain(strided);
  Dims value_sizes{0};
  int64_t block = 1, positions = 1;
  for (int64_t d = 0; d < self.ndim(); ++d) {
    if (d < sparse_dim) {
      positions *= self.size(d);
    } else {
      block *= self.size(d);
      value_sizes.push_back(self.size(d));
    }
  }
  std::vector<int64_t> numbers;
  visit_any(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (block == 0) return;
    const T* data = self.data_as<T>();
    for (int64_t p = 0; p < positions; ++p) {
      bool any = false;
      for (int64_t j = 0; j < block; ++j) any = any || data[p * block + j] != T{};
      if (any) numbers.push_back(p);
    }
  });
  const auto nnz = static_cast<int64_t>(numbers.size());
  value_sizes[0] = nnz;
  const Tensor indices = empty(Dims{sparse_dim, nnz}, DType::kInt64);
  for (int64_t i = 0; i < nnz; ++i) {
    int64_t number = numbers[static_cast<size_t>(i)];
    for (int64_t d = sparse_dim; d-- > 0; number /= self.size(d))
      indices.data_as<int64_t>()[d * nnz + i] = number % self.size(d);
  }
  record_write(indices);
  const Tensor values = blocks_at(numbers, self, value_sizes, block);
  return make_coo(self.sizes(), indices, values, true);
}

}  // namespace

Tensor to_sparse(KeySet, const Tensor& self, int64_t sparse_dim) {
  check_on_host("to_sparse", self);
  if (self.is_sparse()) {
    check(sparse_dim == self.impl()->sparse()->sparse_dim(), "to_sparse: conversion from ",
          layout_title(self),
          " to Sparse with sparse_dim argument !=self.sparse_dim() is not supported");
    return coo_of(self);
  }
  check(sparse_dim >= 0 && sparse_dim <= self.ndim(),
        "dense_to_sparse: sparse_dim argument must be in [0,", self.ndim(), "] range, but ",
        sparse_dim, " is given");
  check(sparse_dim > 0 || self.ndim() == 0,
        "dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0");
  return sparse_of(self, sparse_dim);
}

Tensor to_sparse_csr(KeySet, const Tensor& self) {
  check_on_host("to_sparse_csr", self);
  check_kind(self.ndim() == 2, ErrorKind::kNotImplemented,
             "to_sparse_csr: only matrices are supported, got shape ", self.sizes());
  return csr_of(self.is_sparse() ? self : sparse_of(self, 2));
}

Tensor sparse_mask(KeySet, const Tensor& self, const Tensor& mask) {
  check_kind(
      mask.is_sparse(), ErrorKind::kNotImplemented,
      "Could not run 'aten::sparse_mask' with arguments from the 'CPU' backend: the mask must "
      "be a sparse tensor, such as mask.to_sparse()");
  check_on_host("sparse_mask", self);
  return with_values(mask, values_at(self, checked(coo_of(mask)), "sparse_mask()"));
}

}  // namespace uh::kernels
