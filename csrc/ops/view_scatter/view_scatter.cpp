// The composites of view_scatter.yaml: clone, view, copy.
#include "generated/kernels/view_scatter.h"
#include "generated/ops/copy.h"
#include "generated/ops/view.h"
#include "ops/copy/any_device.h"
#include "ops/overlap.h"

namespace uh::kernels {
namespace {

// Returns a dense copy with the stride order of self.
Tensor copied_in_order(const Tensor& self) {
  Tensor out = empty_like(self, self.dtype());
  write_elements(out, self);
  return out;
}

// Copies the whole Storage with self's strides and offset, gaps included; makes a dense copy if
// elements overlap.
Tensor copied_with_storage(const Tensor& self) {
  if (has_internal_overlap(self)) return copied_in_order(self);
  const auto room = static_cast<int64_t>(self.storage()->nbytes()) / itemsize(self.dtype());
  const Tensor base = zeros_on(Dims{room}, self.dtype(), self.device());
  const Tensor out = alias(base, self.impl()->layout());
  write_elements(out, self);
  return out;
}

void replace(const Tensor& part, const Tensor& src, std::string_view op) {
  check(part.sizes() == src.sizes(), op,
        ": expected src to have a size equal to the slice of self. src size = ", src.sizes(),
        ", slice size = ", part.sizes());
  const Without<Key::kADInplaceOrView> below;  // the result is new: not a write to it
  ops::copy_(part, src, false);
}

}  // namespace

Tensor select_scatter(KeySet, const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
  const Tensor out = copied_with_storage(self);
  replace(ops::select(out, dim, index), src, "select_scatter");
  return out;
}

Tensor slice_scatter(KeySet, const Tensor& self, const Tensor& src, int64_t dim,
                     std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  const Tensor out = copied_with_storage(self);
  replace(ops::slice(out, dim, start, end, step), src, "slice_scatter");
  return out;
}

Tensor diagonal_scatter(KeySet, const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1,
                        int64_t dim2) {
  const Tensor out = copied_with_storage(self);
  replace(ops::diagonal(out, offset, dim1, dim2), src, "diagonal_scatter");
  return out;
}

Tensor as_strided_scatter(KeySet, const Tensor& self, const Tensor& src, const Dims& size,
                          const Dims& stride, std::optional<int64_t> storage_offset) {
  check(!self.impl()->requires_grad() || !has_internal_overlap(self),
        "as_strided_scatter: the elements of self share memory: sizes ", self.sizes(), ", strides ",
        self.strides());
  const Tensor out = copied_with_storage(self);
  replace(ops::as_strided(out, size, stride, storage_offset), src, "as_strided_scatter");
  return out;
}

}  // namespace uh::kernels
