// Predicates on the bytes that a layout describes: no gaps, no overlap.
#pragma once

#include "tensor/tensor_impl.h"

namespace uh {

// True if the elements follow each other in row-major order. Strides of dimensions of size 1 do not
// matter.
bool is_contiguous(const Layout& layout);

// True if the layout has no gaps and no overlap in some order of its dimensions.
bool is_dense(const Layout& layout);

// True only if each element has separate bytes: every dimension's stride exceeds the inner extent.
bool is_non_overlapping(const Layout& layout);

}  // namespace uh
