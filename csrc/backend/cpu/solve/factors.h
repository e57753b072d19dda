// Computing LU factors, and solving with them.
#pragma once

#include "ops/solve/shapes.h"

namespace uh {

// Writes the factors of any floating or complex batch.
void write_factors(const Tensor& a, const Factors& factors);

// x = A^-1 x ('N'), A^-T x ('T') or A^-H x ('C'); x is column-major, the factors' batch broadcasts.
void solve_in_place(const Tensor& lu, const Tensor& pivots, const Tensor& x, char trans);

}  // namespace uh
