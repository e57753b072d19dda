// matmul when gradients are required: composed of operators that have gradients; and _unsafe_view.
#include "generated/kernels/linalg.h"
#include "generated/ops/linalg.h"
#include "generated/ops/view.h"
#include "ops/copy/any_device.h"
#include "ops/view/layouts.h"

namespace uh::kernels {

Tensor matmul_calls(KeySet, const Tensor& self, const Tensor& other);

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
  if (da >= 3 && db <= 2) {  // one product of matrices: all leading dimensions become rows
    Dims rows{-1, self.size(da - 1)};
    if (self.numel() == 0) rows[0] = numel_of(IntSpan(self.sizes()).first(self.sizes().size() - 1));
    Dims shape(IntSpan(self.sizes()).first(self.sizes().size() - 1));
    const Tensor folded = ops::reshape(self, rows);
    if (db == 1) return ops::_unsafe_view(ops::mv(folded, other), shape);
    shape.push_back(other.size(1));
    return ops::_unsafe_view(ops::mm(folded, other), shape);
  }
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
  const Tensor product = ops::bmm(batched(a), batched(b));
  Dims shape = batch;
  if (da > 1) shape.push_back(product.size(1));
  if (db > 1) shape.push_back(product.size(2));
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
