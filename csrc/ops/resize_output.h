// The first step of the generated out= kernels of `row_major` forms.
#pragma once

#include "tensor/tensor.h"

namespace uh {

// Resizes `out` to the sizes of `result` if they differ: row-major, where PyTorch also resizes by
// sizes and ignores the result's strides.
void resize_row_major(const Tensor& out, const Tensor& result);

}  // namespace uh
