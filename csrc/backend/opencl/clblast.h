// CLBlast, a tuned library of matrix products, loaded at run time if it is installed.
#pragma once

#include "backend/opencl/gemm.h"

namespace uh::opencl {

// True if products on this device are computed by CLBlast: not on a CPU, where the kernels of
// gemm.cl are faster. UNDERHOOD_CLBLAST: 0 is never, 1 always, anything else the library's path.
bool uses_clblast(const OpenclDevice& device);

// Enqueues the product; returns false, without enqueuing, if CLBlast does not support it.
bool clblast_product(const Product& product, const Tensor& result);

}  // namespace uh::opencl
