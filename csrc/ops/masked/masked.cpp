// The shape rules and composites of masked.yaml.
#include "generated/kernels/masked.h"
#include "generated/ops/masked.h"
#include "ops/copy/element.h"
#include "ops/copy/write_out.h"
#include "ops/masked/shapes.h"
#include "ops/overlap.h"

namespace uh::shapes {
namespace {

void check_mask(const Tensor& mask, std::string_view op) {
  check(mask.dtype() == DType::kBool, op, ": only supports boolean masks, but got mask with dtype ",
        name(mask.dtype()));
}

void check_single(const Tensor& value, std::string_view op) {
  check(value.ndim() == 0, op, ": only supports a 0-dimensional value tensor, but got tensor with ",
        value.ndim(), " dimension(s): ", value.sizes());
}

void check_scatter_source(const Tensor& self, const Tensor& source) {
  check(self.dtype() == source.dtype(),
        "masked_scatter_: expected self and source to have same dtypes but got ",
        name(self.dtype()), " and ", name(source.dtype()));
}

Tensor broadcast(const Tensor& self, const Tensor& mask) {
  return empty(broadcast_shapes(self.sizes(), mask.sizes()), self.dtype(), self.device());
}

void check_inplace(const Tensor& self, const Tensor& mask) {
  check_mask(mask, "masked_fill_");
  check_broadcasts_to(mask.sizes(), self.sizes(), "masked_fill_");
  check_no_partial_overlap(self, mask, "masked_fill_");
}

}  // namespace

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  check_mask(mask, "masked_fill");
  Tensor out = broadcast(self, mask);
  check_fits(value, self.dtype());
  return out;
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value) {
  check_single(value, "masked_fill");
  check_mask(mask, "masked_fill");
  return broadcast(self, mask);
}

void masked_fill_inplace(const Tensor& self, const Tensor& mask, const Scalar& value) {
  check_inplace(self, mask);
  check_fits(value, self.dtype());
}

void masked_fill_inplace(const Tensor& self, const Tensor& mask, const Tensor& value) {
  check_single(value, "masked_fill_");
  check_inplace(self, mask);
}

Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  check_mask(mask, "masked_scatter");
  Tensor out = broadcast(self, mask);
  check_scatter_source(self, source);
  return out;
}

void masked_scatter_inplace(const Tensor& self, const Tensor& mask, const Tensor& source) {
  check_mask(mask, "masked_scatter_");
  check_scatter_source(self, source);
  check_broadcasts_to(mask.sizes(), self.sizes(), "masked_scatter_");
  check_no_internal_overlap(self, "masked_scatter_");
}

}  // namespace uh::shapes

namespace uh::kernels {

Tensor argwhere(KeySet, const Tensor& self) { return ops::nonzero(self); }

}  // namespace uh::kernels
