// Batches of matrix products over any strides: the one place that talks to BLAS.
#pragma once

#include "tensor/tensor.h"

namespace uh {

// How the last dimensions of an operand are read: a matrix, or a vector that stands for one.
enum class Reading { kMatrix, kRow, kColumn };

// out[batch] = a[batch] b[batch]. `batch` is the broadcast shape of the operands' leading
// dimensions; `out` is contiguous and holds batch x rows of a x columns of b elements. All have the
// same dtype.
void multiply(const Tensor& out, const Tensor& a, Reading a_reading, const Tensor& b,
              Reading b_reading, Dims batch);

// The kernels OpenBLAS chose for this CPU: "SkylakeX", "Haswell", ...
const char* blas_core_name();

}  // namespace uh
