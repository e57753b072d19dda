// The shape rules of arrange.yaml, and its composites.
#include <cmath>

#include "generated/kernels/arrange.h"
#include "generated/ops/arrange.h"
#include "generated/ops/copy.h"
#include "generated/ops/join.h"
#include "generated/ops/view.h"
#include "generated/ops/view_copy.h"
#include "ops/arrange/shapes.h"
#include "ops/copy/any_device.h"
#include "ops/overlap.h"

namespace uh::shapes {
namespace {

void check_matrices(const Tensor& self, std::string_view op) {
  check(self.ndim() >= 2, op, ": input tensor must have at least 2 dimensions, got ", self.ndim());
}

// Throws for matrices that share memory, except where only the outermost batch dimension repeats,
// which PyTorch writes.
void check_batch(const Tensor& self, std::string_view op) {
  if (self.ndim() <= 3 || !has_internal_overlap(self)) return;
  int64_t expected = self.size(self.ndim() - 1) * self.size(self.ndim() - 2);
  for (int64_t d = self.ndim() - 3; d >= 0; --d) {
    if (d == 0 && (self.stride(d) == 0 || self.size(d) == 1)) continue;
    if (self.stride(d) != expected) check_no_internal_overlap(self, op);
    expected *= self.size(d);
  }
}

}  // namespace

Tensor triangle(std::string_view op, const Tensor& self) {
  check_matrices(self, op);
  return empty(self.sizes(), self.dtype(), self.device());
}

void triangle_inplace(std::string_view op, const Tensor& self) {
  check_matrices(self, op);
  check_batch(self, op);
}

}  // namespace uh::shapes

namespace uh::kernels {

Tensor diag_embed(KeySet, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t rank = self.ndim() + 1;
  const int64_t a = wrap_dim(dim1, rank, "diag_embed"), b = wrap_dim(dim2, rank, "diag_embed");
  check(a != b, "diag_embed: diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  check_kind(self.ndim() > 0, ErrorKind::kIndex,
             "diag_embed: Dimension specified as -1 but tensor has no dimensions");
  const int64_t count = self.size(self.ndim() - 1);
  int64_t side = 0;
  check(offset != INT64_MIN && !__builtin_add_overflow(count, std::abs(offset), &side),
        "diag_embed: offset ", offset, " is too large");
  Dims sizes;
  for (int64_t d = 0, from = 0; d < rank; ++d)
    sizes.push_back(d == a || d == b ? side : self.size(from++));
  const Tensor out = zeros_on(sizes, self.dtype(), self.device());
  const int64_t down = out.stride(a), across = out.stride(b);
  Layout line{self.sizes(), {}, offset >= 0 ? offset * across : -offset * down};
  for (int64_t d = 0; d < rank; ++d)
    if (d != a && d != b) line.strides.push_back(out.stride(d));
  line.strides.push_back(down + across);
  if (self.numel()) write_elements(alias(out, std::move(line)), self);
  record_write(out);
  return out;
}

Tensor diag(KeySet, const Tensor& self, int64_t diagonal) {
  check(self.ndim() == 1 || self.ndim() == 2, "diag(): Supports 1D or 2D tensors. Got ",
        self.ndim(), "D");
  if (self.ndim() == 1) return ops::diag_embed(self, diagonal, 0, 1);
  return ops::diagonal_copy(self, diagonal, 0, 1);
}

void diag_out(KeySet, const Tensor& self, int64_t diagonal, const Tensor& out) {
  check(self.ndim() == 1 || self.ndim() == 2, "diag(): Supports 1D or 2D tensors. Got ",
        self.ndim(), "D");
  if (self.ndim() == 1)
    ops::diag_embed_out(self, diagonal, 0, 1, out);
  else
    ops::diagonal_copy_out(self, diagonal, 0, 1, out);
}

Tensor diagflat(KeySet, const Tensor& self, int64_t offset) {
  return ops::diag(ops::reshape(self, Dims{-1}), offset);
}

Tensor rot90(KeySet, const Tensor& self, int64_t k, const Dims& dims) {
  check(dims.size() == 2, "expected total rotation dims == 2, but got dims = ", dims.size());
  check(self.ndim() >= 2, "expected total dims >= 2, but got total dims = ", self.ndim());
  const int64_t total = self.ndim();
  check(dims[0] != dims[1] && std::abs(dims[0] - dims[1]) != total,
        "expected rotation dims to be different, but got dim0 = ", dims[0],
        " and dim1 = ", dims[1]);
  for (int64_t d : dims) check(d < total && d >= -total, "Rotation dim out of range, dim = ", d);
  const Without<Key::kADInplaceOrView> below;  // the result is new: its views need no record
  switch ((k % 4 + 4) % 4) {
    case 1: return ops::transpose(ops::flip(self, Dims{dims[1]}), dims[0], dims[1]);
    case 2: return ops::flip(self, dims);
    case 3: return ops::transpose(ops::flip(self, Dims{dims[0]}), dims[0], dims[1]);
    default: return ops::clone(self, MemoryFormat::kContiguous);
  }
}

Tensor fliplr(KeySet, const Tensor& self) {
  check(self.ndim() >= 2, "Input must be >= 2-d, got ", self.ndim(), "-d");
  return ops::flip(self, Dims{1});
}
Tensor flipud(KeySet, const Tensor& self) {
  check(self.ndim() >= 1, "Input must be >= 1-d, got 0-d");
  return ops::flip(self, Dims{0});
}

Tensor fill_copy(KeySet, const Tensor& self, const Scalar& value) {
  Tensor out = empty_like(self, self.dtype());
  ops::fill__Scalar(out, value);
  return out;
}
Tensor fill_copy_tensor(KeySet, const Tensor& self, const Tensor& value) {
  Tensor out = empty_like(self, self.dtype());
  ops::fill_(out, value);
  return out;
}

Tensor narrow_copy(KeySet, const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  check(dim < self.ndim(), "narrow_copy: expected dim < ", self.ndim(), ", got ", dim);
  return ops::clone(ops::narrow(self, dim, start, length), MemoryFormat::kContiguous);
}

}  // namespace uh::kernels
