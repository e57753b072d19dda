// LU factors of a batch of matrices, and solving with them.
#pragma once

#include "tensor/tensor.h"

namespace uh {

// A = P L U: L and U packed column-major in one tensor, the row exchanges (from 1), and for each
// matrix 0 or the 1-based index of the first zero on U's diagonal.
struct Factors {
  Tensor lu, pivots, info;
};

// Factors any floating or complex batch; on meta computes only the layouts.
Factors lu_factors(const Tensor& a, std::string_view op);

// x = A^-1 x ('N'), A^-T x ('T') or A^-H x ('C'); x is column-major, the factors' batch broadcasts.
void solve_in_place(const Tensor& lu, const Tensor& pivots, const Tensor& x, char trans);

// Throws unless the sizes of A X = B or X A = B match.
void check_equation(const Tensor& a, const Tensor& b, bool left, std::string_view op);

}  // namespace uh
