// Enters the generated Autograd kernels into their operators, after ops::register_all.
#pragma once

namespace uh::autograd {

void register_all();

}  // namespace uh::autograd
