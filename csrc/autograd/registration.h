// Registers the generated Autograd kernels, after ops::register_all.
#pragma once

namespace uh::autograd {

void register_all();

}  // namespace uh::autograd
