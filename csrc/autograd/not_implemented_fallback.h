// The Autograd kernels of operators that have no gradient. Note [Operators without a gradient].
#pragma once

namespace uh::autograd {

// Sets the barrier functions of dispatch/operator.h.
void set_barrier();

}  // namespace uh::autograd
