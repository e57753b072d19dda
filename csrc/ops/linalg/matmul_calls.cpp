// matmul when gradients are required: composed of operators that have gradients; and _unsafe_view.
#include "generated/kernels/linalg.h"
#include "generated/ops/copy.h"
#include "generated/ops/linalg.h"
#include "generated/ops/view.h"
#include "ops/copy/any_device.h"
#include "ops/view/layouts.h"

namespace uh::kernels {

Tensor matmul_calls(KeySet, const Tensor& self, const Tensor& other);

namespace {

// Returns whether the leading dimensions of the larger operand become rows of one matrix, as in
// PyTorch: always if the smaller one requires grad, whose gradient is then one product; otherwise
// if the rows need no copy.
bool folds(const Tensor& self, const Tensor& other) {
  const bool self_is_larger = self.ndim() >= other.ndim();
  const Tensor& smaller = self_is_larger ? other : self;
  const Tensor& batch = self_is_larger ? self : other;
  if (batch.ndim() < 3 || smaller.ndim() > 2) return false;
  if (smaller.impl()->requires_grad()) return true;
  if (self.ndim() == 2) return false;  // the product would have to be transposed
  if (batch.numel() == 0) return true;
  const Tensor larger = self_is_larger ? self : ops::transpose(other, -2, -1);
  for (int64_t d = 0; d + 2 < larger.ndim(); ++d)
    if (larger.stride(d) != larger.stride(d + 1) * larger.size(d + 1)) return false;
  return true;
}

// Returns whether `self` is a batch of one matrix that requires grad, and `other` one of another
// number: as in PyTorch, it is multiplied as that matrix, so that its gradient is one product.
bool is_single_matrix(const Tensor& self, const Tensor& other) {
  return self.ndim() == 3 && other.ndim() == 3 && self.size(0) == 1 && other.size(0) != 1 &&
         self.impl()->requires_grad();
}

Tensor folded_product(const Tensor& self, const Tensor& other) {
  const bool turned = other.ndim() > self.ndim();
  const Tensor t1 = turned ? ops::transpose(other, -2, -1) : self;
  const Tensor t2 = !turned ? other : self.ndim() == 2 ? ops::t(self) : self;
  const int64_t columns = t1.size(t1.ndim() - 1);
  Dims shape(IntSpan(t1.sizes()).first(t1.sizes().size() - 1));
  const Tensor rows = ops::reshape(t1, Dims{numel_of(shape), columns});
  if (t2.ndim() == 1) return ops::_unsafe_view(ops::mv(rows, t2), shape);
  shape.push_back(t2.size(1));
  const Tensor product = ops::_unsafe_view(ops::mm(rows, t2), shape);
  return turned ? ops::contiguous(ops::transpose(product, -2, -1)) : product;
}

}  // namespace

Tensor matmul_calls(KeySet, const Tensor& self, const Tensor& other) {
  const int64_t da = self.ndim(), db = other.ndim();
  check(da > 0 && db > 0, "both arguments to matmul need to be at least 1D, but they are ", da,
        "D and ", db, "D");
  if (da == 1 && db == 1) return ops::dot(self, other);
  if (da == 2 && db == 1) return ops::mv(self, other);
  if (da == 2 && db == 2) return ops::mm(self, other);
  if (da == 1 && db == 2) {  // squeezed in place: its base is not kept
    Tensor row = ops::mm(ops::unsqueeze(self, 0), other);
    ops::squeeze_(row, Dims{0});
    return row;
  }
  if (is_single_matrix(self, other)) return folded_product(ops::squeeze(self, Dims{0}), other);
  if (is_single_matrix(other, self)) return folded_product(self, ops::squeeze(other, Dims{0}));
  if (folds(self, other)) return folded_product(self, other);
  const Tensor a = da == 1 ? ops::unsqueeze(self, 0) : self;
  const Tensor b = db == 1 ? ops::unsqueeze(other, -1) : other;
  const auto batch_of = [](const Tensor& t) {
    return IntSpan(t.sizes()).first(t.sizes().size() - 2);
  };
  Dims batch = broadcast_shapes(batch_of(a), batch_of(b));
  const auto batched = [&](const Tensor& t) {
    Dims full_sizes = batch;
    full_sizes.push_back(t.size(t.ndim() - 2));
    full_sizes.push_back(t.size(t.ndim() - 1));
    return ops::reshape(ops::expand(t, full_sizes, false),
                        Dims{numel_of(batch), t.size(t.ndim() - 2), t.size(t.ndim() - 1)});
  };
  Tensor product = ops::bmm(batched(a), batched(b));
  Dims shape = batch;
  if (da > 1) shape.push_back(product.size(1));
  if (db > 1) shape.push_back(product.size(2));
  if (db == 1) product = ops::squeeze(product, Dims{-1});
  return ops::_unsafe_view(product, shape);
}

Tensor unsafe_view(KeySet, const Tensor& self, const Dims& size) {
  check(checked_numel(size, "_unsafe_view") == self.numel(), "_unsafe_view: shape ", size,
        " is invalid for input of size ", self.numel());
  if (const auto strides = layouts::view_strides(self.sizes(), self.strides(), size))
    return alias(self, Layout{size, *strides, self.offset()});
  const Tensor dense = dense_copy(self);
  return alias(dense, Layout{size, contiguous_strides(size), dense.offset()});
}

}  // namespace uh::kernels
