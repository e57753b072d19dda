// Checks of matrix operators' arguments, with PyTorch's messages.
#pragma once

#include <algorithm>
#include <string_view>

#include "tensor/tensor.h"

namespace uh {

// Returns the batch dimensions of a `matmul` operand: none for a matrix or a vector.
inline IntSpan matrix_batch(const Tensor& t) {
  return IntSpan(t.sizes()).first(static_cast<size_t>(std::max<int64_t>(t.ndim() - 2, 0)));
}

// Throws unless both have one dtype that products support: "expected m1 and m2 to have...".
void check_product_dtypes(const Tensor& a, const Tensor& b, std::string_view names);

// Throws unless the inner sizes of (m x k) and (k2 x n) are equal.
void check_inner(int64_t m, int64_t k, int64_t k2, int64_t n);

// Throws unless there are at least two dimensions.
void check_matrix(const Tensor& t, std::string_view op, std::string_view argument = "A");
// Throws unless there are at least two dimensions, the last two of the same size.
void check_square(const Tensor& t, std::string_view op, std::string_view argument = "A");
// Throws unless the dtype is float32, float64 or complex. The enum selects PyTorch's error: the
// operator may reject the dtype itself, or only a non-floating dtype, or only lack the kernel.
// Throws unless both are batches of matrices: IndexError for tensors of fewer dimensions.
void check_batches(const Tensor& batch1, const Tensor& batch2, std::string_view op);
enum class Lapack { kDtypes, kFloating, kKernelOnly };
void check_lapack_dtype(const Tensor& t, std::string_view op, Lapack refusal = Lapack::kFloating);
// The same for operators that return before LAPACK if the tensor is empty, so that its dtype is not
// checked.
void check_lapack_dtype_unless_empty(const Tensor& t, std::string_view op,
                                     Lapack refusal = Lapack::kFloating);
// Throws unless `second` has the dtype of `first`.
void check_same_dtype(const Tensor& first, const Tensor& second, std::string_view op,
                      std::string_view first_name, std::string_view second_name);

}  // namespace uh
