// threshold_ for tensors whose elements share memory.
#include "generated/kernels/activation.h"
#include "generated/ops/view.h"
#include "generated/pointwise/activation.h"

namespace uh::kernels {

// As in PyTorch, elements may share memory: writing one twice is harmless, so a view that has each
// element once is written.
void threshold_into(KeySet, const Tensor& self, const Scalar& threshold, const Scalar& value) {
  Dims sizes = self.sizes();
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (self.strides()[d] == 0 && sizes[d] > 1) sizes[d] = 1;
  }
  const Tensor once =
      sizes == self.sizes() ? self : ops::as_strided(self, sizes, self.strides(), self.offset());
  run_pointwise(k_threshold, Form::kInplace, std::array{Input(once)}, Params({threshold, value}),
                once);
}

}  // namespace uh::kernels
