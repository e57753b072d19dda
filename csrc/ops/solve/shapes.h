// Shape rules of solve.yaml, and LU factors.
#pragma once

#include <string>
#include <tuple>

#include "tensor/tensor.h"

namespace uh {

// A = P L U: L and U packed column-major in one tensor, the row exchanges (from 1), and for each
// matrix 0 or the 1-based index of the first zero on U's diagonal.
struct Factors {
  Tensor lu, pivots, info;
};

// Allocates the factors of a batch; throws if LAPACK cannot compute them.
Factors empty_factors(const Tensor& a, std::string_view op);

// The message for factors with a zero on U's diagonal, at this 1-based index.
std::string singular_at(int index);

// True if b is a vector: (n,), or one per matrix of the batch.
bool is_vector_rhs(const Tensor& a, const Tensor& b);

}  // namespace uh

namespace uh::shapes {

std::tuple<Tensor, Tensor, Tensor> lu_factor(const Tensor& a, bool pivot);
std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& lu, const Tensor& pivots,
                                             bool unpack_data, bool unpack_pivots);
Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left);
// The solution, LU, pivots and info.
std::tuple<Tensor, Tensor, Tensor, Tensor> solve(const Tensor& a, const Tensor& b, bool left);
std::tuple<Tensor, Tensor> inv(const Tensor& a);
// The result, LU and pivots.
std::tuple<Tensor, Tensor, Tensor> det(const Tensor& a);
// The sign, the logarithm of the absolute value, LU and pivots.
std::tuple<Tensor, Tensor, Tensor, Tensor> slogdet(const Tensor& a);
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool left);
// The solution, and a copy of `a` broadcast to its batch.
std::tuple<Tensor, Tensor> triangular_solve(const Tensor& b, const Tensor& a);

}  // namespace uh::shapes
