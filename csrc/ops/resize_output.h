// The first step of the generated out= kernels of `row_major` forms.
#pragma once

#include "tensor/tensor.h"

namespace uh {

// Gives `out` the sizes of `made` if it has others: row-major, where PyTorch too resizes by sizes
// alone and does not ask how the result lies.
void resize_row_major(const Tensor& out, const Tensor& result);

}  // namespace uh
