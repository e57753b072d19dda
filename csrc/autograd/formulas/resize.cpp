// resize_ has no gradient: its ADInplaceOrView kernel rejects tensors that require one.
#include "generated/ops/reshaping.h"
#include "generated/ops/view.h"

namespace uh::kernels {

void resize_unless_wanted(KeySet keys, const Tensor& self, const Dims& size);
void resize_as_unless_wanted(KeySet keys, const Tensor& self, const Tensor& the_template,
                             MemoryFormat format);

void resize_unless_wanted(KeySet keys, const Tensor& self, const Dims& size) {
  ops::resize__op.redispatch(keys.below(Key::kAutograd), self, size);
}
void resize_as_unless_wanted(KeySet keys, const Tensor& self, const Tensor& the_template,
                             MemoryFormat format) {
  ops::resize_as__op.redispatch(keys.below(Key::kAutograd), self, the_template, format);
}

}  // namespace uh::kernels
