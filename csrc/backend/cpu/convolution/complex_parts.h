// Complex convolutions as real ones: a tensor's real and imaginary parts, and the sum of products.
#pragma once

#include "backend/cpu/copy/elements.h"

namespace uh {

// Returns the real (0) or imaginary (1) parts of a complex tensor as a separate tensor.
inline Tensor part_of(const Tensor& self, int64_t which) {
  if (!self) return self;
  Dims strides = self.strides();
  for (int64_t& s : strides) s *= 2;
  const DType real = to_real(self.dtype());
  Tensor part = empty(self.sizes(), real);
  copy_elements(Strided(part),
                Strided(self.data() + which * itemsize(real), real, self.sizes(), strides));
  return part;
}

// out = rr - ii + i (ri + ir), all contiguous.
inline void join_parts(const Tensor& out, const Tensor& rr, const Tensor& ii, const Tensor& ri,
                       const Tensor& ir) {
  const auto join = [&](auto zero) {
    using R = decltype(zero);
    R* to = out.data_as<R>();
    for (int64_t k = 0; k < out.numel(); ++k) {
      to[2 * k] = rr.data_as<R>()[k] - ii.data_as<R>()[k];
      to[2 * k + 1] = ri.data_as<R>()[k] + ir.data_as<R>()[k];
    }
  };
  out.dtype() == DType::kComplex64 ? join(float{}) : join(double{});
}

}  // namespace uh
