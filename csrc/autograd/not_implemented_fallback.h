// The Autograd kernels of operators that have no gradient. Note [Operators without a gradient].
#pragma once

namespace uh::autograd {

// Enters the functions of not_implemented_fallback.cpp into dispatch/operator.h.
void set_barrier();

}  // namespace uh::autograd
