// Predicates of the bytes that a layout describes: without gaps, without overlap.
#pragma once

#include "tensor/tensor_impl.h"

namespace uh {

// Without gaps and overlap in some order of its dimensions.
bool is_dense(const Layout& layout);

// True if each element surely has separate bytes: every dimension steps over all inner ones.
bool is_non_overlapping(const Layout& layout);

}  // namespace uh
