// CLBlast, a tuned library of matrix products: found at run time, where it is installed.
#pragma once

#include "backend/opencl/gemm.h"

namespace uh::opencl {

// True if products on this device go to CLBlast first: not on a CPU, where the kernels of gemm.cl
// are faster. UNDERHOOD_CLBLAST=0 says never, 1 always, anything else is the library's path.
bool uses_clblast(const OpenclDevice& device);

// Enqueues the product; false where CLBlast does not compute it, and nothing has been enqueued.
bool clblast_product(const Product& product, const Tensor& result);

}  // namespace uh::opencl
