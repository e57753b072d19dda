// The checks of matrix operators' arguments, with PyTorch's messages.
#pragma once

#include <algorithm>
#include <string_view>

#include "tensor/tensor.h"

namespace uh {

// The dimensions before the matrices of an operand of `matmul`: none for a matrix or a vector.
inline IntSpan matrix_batch(const Tensor& t) {
  return IntSpan(t.sizes()).first(static_cast<size_t>(std::max<int64_t>(t.ndim() - 2, 0)));
}

// Both have the same dtype, and one that products are defined for: "expected m1 and m2 to have...".
void check_product_dtypes(const Tensor& a, const Tensor& b, std::string_view names);

// (m x k) (k2 x n): the inner sizes are equal.
void check_inner(int64_t m, int64_t k, int64_t k2, int64_t n);

// At least two dimensions.
void check_matrix(const Tensor& t, std::string_view op, std::string_view argument = "A");
// At least two dimensions, the last two of the same size.
void check_square(const Tensor& t, std::string_view op, std::string_view argument = "A");
// float32, float64 or complex.
// What LAPACK has no routine for, as PyTorch raises it: some operators ask for the dtype, some for
// a floating one (and its kernel is missing then), some only for the kernel.
enum class Lapack { kDtypes, kFloating, kKernelOnly };
void check_lapack_dtype(const Tensor& t, std::string_view op, Lapack refusal = Lapack::kFloating);
// The same for operators that never reach LAPACK with an empty tensor, whose dtype it then does not
// matter to.
void check_lapack_dtype_unless_empty(const Tensor& t, std::string_view op,
                                     Lapack refusal = Lapack::kFloating);
// The same dtype as `first`.
void check_same_dtype(const Tensor& first, const Tensor& second, std::string_view op,
                      std::string_view first_name, std::string_view second_name);

}  // namespace uh
