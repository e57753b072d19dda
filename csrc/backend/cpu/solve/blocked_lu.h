// LU factors of one square matrix by blocks of columns, for sizes at which OpenBLAS loses more than
// half of its rate and does not scale: a block by getrf, what it changes in the columns after it by
// the products of backend/cpu/product_loops.h.
#pragma once

#include <cstdint>

namespace uh {

// Returns true if the loops exist and are faster than OpenBLAS; measured for sizes from 64 to 2000.
template <class T>
bool is_for_blocked_lu(int64_t m, int64_t n);

// getrf of the column-major n x n matrix a: its factors replace it, its pivots count from 1.
// Returns 0, or the number of the first pivot that is 0.
template <class T>
int32_t blocked_lu(T* a, int64_t n, int32_t* pivots);

}  // namespace uh
