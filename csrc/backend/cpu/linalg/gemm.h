// Batches of matrix products over any strides: the only file that calls BLAS's gemm.
#pragma once

#include "tensor/tensor.h"

namespace uh {

// The interpretation of an operand's last dimensions: a matrix, or a vector used as one.
enum class Reading { kMatrix, kRow, kColumn };

// Computes alpha * product + beta * out. With a beta of 0, `out` is not read, so that a NaN in it
// is overwritten.
struct Scale {
  Scalar alpha, beta;
};

// out[batch] = a[batch] b[batch]. `batch` is the broadcast shape of the operands' leading
// dimensions; `out` is contiguous with batch x rows of a x columns of b elements. All have one
// dtype.
void multiply(const Tensor& out, const Tensor& a, Reading a_reading, const Tensor& b,
              Reading b_reading, Dims batch, const Scale* scale = nullptr);

// Note [BLAS threads]: OpenBLAS has separate threads. Before a call their number is set to ours, or
// to 1 if many calls run in parallel.
void set_blas_threads(int n);

// Returns the kernels that OpenBLAS chose for this CPU: "SkylakeX", "Haswell", ...
const char* blas_core_name();

}  // namespace uh
