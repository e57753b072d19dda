// Autocast: calls of a thread that cast their floating-point arguments first. Note [Autocast].
#pragma once

#include "base/dtype.h"

namespace uh::autograd {

bool autocast_enabled();
void set_autocast_enabled(bool enabled);

// The lower precision of this thread: bfloat16 at first.
DType autocast_dtype();
void set_autocast_dtype(DType dtype);

// Leaves that require a gradient, such as weights, are cast once until the cache is cleared.
bool autocast_cache_enabled();
void set_autocast_cache_enabled(bool enabled);
void clear_autocast_cache();

}  // namespace uh::autograd
