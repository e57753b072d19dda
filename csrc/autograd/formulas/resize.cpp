// Tensors that require gradients are not resized: nothing would say where the new elements' go.
#include "autograd/meta.h"
#include "generated/ops/reshaping.h"
#include "generated/ops/view.h"

namespace uh::kernels {
namespace {

void check_free(const Tensor& self) {
  check(!autograd::requires_grad(self), "cannot resize variables that require grad");
}

}  // namespace

void resize_unless_wanted(KeySet keys, const Tensor& self, const Dims& size);
void resize_as_unless_wanted(KeySet keys, const Tensor& self, const Tensor& the_template,
                             MemoryFormat format);

void resize_unless_wanted(KeySet keys, const Tensor& self, const Dims& size) {
  check_free(self);
  ops::resize__op.redispatch(keys.below(Key::kAutograd), self, size);
}
void resize_as_unless_wanted(KeySet keys, const Tensor& self, const Tensor& the_template,
                             MemoryFormat format) {
  check_free(self);
  ops::resize_as__op.redispatch(keys.below(Key::kAutograd), self, the_template, format);
}

}  // namespace uh::kernels
