// Argument checks of losses, for every device.
#pragma once

#include "tensor/tensor.h"

namespace uh {

inline void check_beta(double beta) {
  check(beta >= 0, "smooth_l1_loss: does not support negative values for beta, got ", beta);
}

inline void check_delta(double delta) {
  check(delta > 0, "huber_loss: does not support non-positive values for delta, got ", delta);
}

inline void check_probability_dtypes(const Tensor& self, const Tensor& target,
                                     const Tensor& weight) {
  for (const Tensor& other : {target, weight})
    check(!other || other.dtype() == self.dtype(), "binary_cross_entropy: found dtype ",
          info(other ? other.dtype() : self.dtype()).title, " but expected ",
          info(self.dtype()).title);
}

// Returns the target in the dtype of `self`, in which soft_margin_loss computes: PyTorch multiplies
// -self in place, so the product must fit its dtype and sizes.
Tensor soft_margin_target(const Tensor& self, const Tensor& target);

}  // namespace uh
