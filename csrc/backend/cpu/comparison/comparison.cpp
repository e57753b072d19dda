// The kernel of comparison.yaml that is not an expression.
#include "generated/kernels/comparison.h"

#include "generated/pointwise/comparison.h"

namespace uh::kernels {

void nan_to_num_into(KeySet, const Tensor& self, std::optional<double> nan,
                     std::optional<double> posinf, std::optional<double> neginf) {
  if (!is_inexact(self.dtype())) return;  // nothing to replace, so nothing is written
  run_pointwise(k_nan_to_num, Form::kInplace, std::array{Input(self)},
                Params({nan, posinf, neginf}), self);
}

}  // namespace uh::kernels
