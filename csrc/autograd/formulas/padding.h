// Gradients of padding.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// The negated padding: removes the elements that `pad` adds.
inline Dims less(const Dims& pad) {
  Dims cut = pad;
  for (int64_t& n : cut) n = -n;
  return cut;
}

}  // namespace uh::autograd
