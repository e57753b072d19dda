// Gradients of im2col and col2im, each computed by the other.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// Height and width of an image.
inline Dims spatial(const Dims& sizes) {
  return {sizes[sizes.size() - 2], sizes[sizes.size() - 1]};
}

}  // namespace uh::autograd
