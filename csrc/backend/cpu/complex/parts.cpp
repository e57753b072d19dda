// The kernels of complex.yaml that write a part of each element.
#include "backend/cpu/copy/elements.h"
#include "generated/kernels/complex.h"
#include "generated/ops/arithmetic.h"
#include "ops/complex/shapes.h"

namespace uh::kernels {

void conj_physical_inplace(KeySet, const Tensor& self) {
  if (is_complex(self.dtype()) && !self.is_meta())
    ops::neg__op.redispatch(KeySet(Key::kCPU), complex_part(self, 1));
}

void complex(const Tensor& real, const Tensor& imag, const Tensor& result) {
  copy_elements(complex_part(result, 0), real);
  copy_elements(complex_part(result, 1), imag);
}

}  // namespace uh::kernels
