// Which bytes a layout describes: without gaps, without overlap.
#pragma once

#include "tensor/tensor_impl.h"

namespace uh {

// Without gaps and overlap in some order of its dimensions.
bool is_dense(const Layout& layout);

// Whether each element surely has bytes of its own: every dimension steps over all inner ones.
bool is_non_overlapping(const Layout& layout);

}  // namespace uh
