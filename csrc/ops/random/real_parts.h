// Complex numbers are drawn as pairs of reals.
#pragma once

#include <utility>

#include "tensor/tensor.h"

namespace uh {

// A view of the same memory, with the real and the imaginary part as last dimension.
inline Tensor real_parts(const Tensor& self) {
  Layout layout = self.impl()->layout();
  for (int64_t& stride : layout.strides) stride *= 2;
  layout.offset *= 2;
  layout.sizes.push_back(2);
  layout.strides.push_back(1);
  return alias(self, std::move(layout), to_real(self.dtype()), self.impl()->own_counter());
}

}  // namespace uh
