// Autocast: casts the floating-point arguments of a thread's calls. Note [Autocast].
#pragma once

#include "base/dtype.h"

namespace uh::autograd {

bool autocast_enabled();
void set_autocast_enabled(bool enabled);

// The lower precision of this thread; bfloat16 by default.
DType autocast_dtype();
void set_autocast_dtype(DType dtype);

// Casts of leaves that require a gradient, such as weights, are reused until the cache is cleared.
bool autocast_cache_enabled();
void set_autocast_cache_enabled(bool enabled);
void clear_autocast_cache();

}  // namespace uh::autograd
