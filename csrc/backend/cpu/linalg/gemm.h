// Batches of matrix products over any strides: the one place that talks to BLAS.
#pragma once

#include "tensor/tensor.h"

namespace uh {

// The meaning of the last dimensions of an operand: a matrix, or a vector used as one.
enum class Reading { kMatrix, kRow, kColumn };

// The use of a product: alpha * product + beta * the present value. A beta of 0 does not read
// at what was there, so that a NaN in it does not stay.
struct Scale {
  Scalar alpha, beta;
};

// out[batch] = a[batch] b[batch]. `batch` is the broadcast shape of the operands' leading
// dimensions; `out` is contiguous and holds batch x rows of a x columns of b elements. All have the
// same dtype.
void multiply(const Tensor& out, const Tensor& a, Reading a_reading, const Tensor& b,
              Reading b_reading, Dims batch, const Scale* scale = nullptr);

// Note [BLAS threads]: OpenBLAS keeps its own threads. Before a call their number is set to ours,
// or to 1 when many calls run side by side.
void set_blas_threads(int n);

// The kernels OpenBLAS chose for this CPU: "SkylakeX", "Haswell", ...
const char* blas_core_name();

}  // namespace uh
