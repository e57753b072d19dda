// Helpers of sparse kernels: row-major parts, checked indices, linear positions.
#pragma once

#include <string_view>
#include <type_traits>
#include <vector>

#include "tensor/sparse_parts.h"

namespace uh::sparse {

// Returns "Sparse", "SparseCsr" or "Strided", as in PyTorch's messages.
std::string_view layout_title(const Tensor& t);
inline bool is_coo(const Tensor& t) { return t.is_sparse() && !t.impl()->sparse()->is_csr(); }
inline bool is_csr(const Tensor& t) { return t.is_sparse() && t.impl()->sparse()->is_csr(); }

// Throws if an argument is on a device that sparse kernels do not read.
void check_on_host(std::string_view op, const Tensor& t);

// The row-major int64 parts of a tensor whose indices have been checked.
struct Checked {
  Dims sizes;
  Tensor indices, values, crow_indices;
  bool is_coalesced;

  const int64_t* index(int64_t dim) const { return indices.data_as<int64_t>() + dim * nnz(); }
  const int64_t* rows() const { return crow_indices.data_as<int64_t>(); }
  const int64_t* columns() const { return indices.data_as<int64_t>(); }
  int64_t nnz() const { return values.size(0); }
  int64_t sparse_dim() const { return crow_indices ? 2 : indices.size(0); }
  // Returns the number of elements of one value: the product of the dense dimensions.
  int64_t block() const;
};
// Throws RuntimeError for an index out of range. Every kernel calls this before it uses an index,
// as the program may change the memory of `indices()`.
Checked checked(const Tensor& sparse);
// The same for a COO tensor, which is coalesced first.
Checked checked_coalesced(const Tensor& coo);

// Returns the row-major linear index of each entry of a COO tensor, over its sparse dimensions.
std::vector<int64_t> place_numbers(const Checked& coo);
std::vector<int64_t> place_numbers(const Tensor& indices, IntSpan sizes);

Tensor make_coo(const Dims& sizes, Tensor indices, Tensor values, bool is_coalesced);
Tensor make_csr(const Dims& sizes, Tensor crow_indices, Tensor col_indices, Tensor values);
// Returns a COO tensor without entries.
Tensor empty_coo(const Dims& sizes, int64_t sparse_dim, DType dtype);
Tensor empty_csr(const Dims& sizes, DType dtype);
// Returns a tensor with the same indices and other values.
Tensor with_values(const Tensor& sparse, Tensor values);

// Conversions below autograd.
Tensor coalesced(const Tensor& coo);
Tensor coo_of(const Tensor& csr);
Tensor csr_of(const Tensor& coo);
Tensor dense_of(const Tensor& sparse);
// Returns the values of self, strided or sparse, at the indices of `at`.
Tensor values_at(const Tensor& self, const Checked& at, std::string_view op);

// Returns `t` as row-major and of `dtype`.
Tensor plain(const Tensor& t, DType dtype);
inline Tensor plain(const Tensor& t) { return plain(t, t.dtype()); }

// a + b * factor as in tensor addition: integers wrap, bools are combined by `or`.
template <class T>
T plus_scaled(T a, T b, T factor) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || (b && factor);
  } else if constexpr (std::is_integral_v<T>) {
    const auto bits = [](T value) { return static_cast<uint64_t>(value); };
    return static_cast<T>(bits(a) + bits(b) * bits(factor));
  } else {
    return static_cast<T>(a + factor * b);
  }
}

// Returns the stable order that sorts the numbers.
std::vector<int64_t> sorting_order(const std::vector<int64_t>& numbers);

// Number of elements from which a loop is worth several threads.
inline constexpr int64_t kGrain = 1 << 14;

}  // namespace uh::sparse
