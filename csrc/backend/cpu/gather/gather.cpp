// The operators of gather.yaml.
#include "generated/kernels/gather.h"
#include "backend/cpu/index/along.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/gather.h"
#include "generated/ops/view.h"
#include "ops/copy/copy.h"

namespace uh::kernels {
namespace {

void check_gather_shapes(const Tensor& self, int64_t dim, const Tensor& index) {
  const auto rank = [](const Tensor& t) { return std::max<int64_t>(t.ndim(), 1); };
  check(rank(index) == rank(self),
        "gather(): Index tensor must have the same number of dimensions as input tensor: got ",
        index.ndim(), " and ", self.ndim());
  for (int64_t d = 0; d < index.ndim() && self.ndim(); ++d) {
    check(d == dim || index.size(d) <= self.size(d), "gather(): Size does not match at dimension ",
          d, " expected index ", index.sizes(), " to be no larger than self ", self.sizes(),
          " apart from dimension ", dim);
  }
}

// The shape that two shapes broadcast to, dimension `dim` aside: it stays as it is in `own`.
Dims spread(const Tensor& own, const Tensor& other, size_t dim) {
  Dims own_sizes = own.sizes(), other_sizes = other.sizes();
  own_sizes[dim] = other_sizes[dim] = 1;
  Dims sizes = broadcast_shapes(own_sizes, other_sizes);
  sizes[dim] = own.sizes()[dim];
  return sizes;
}

}  // namespace

Tensor gather(KeySet, const Tensor& self, int64_t dim, const Tensor& index, bool) {
  const int64_t d = wrap_dim(dim, self.ndim(), "gather");
  if (index.numel() > 0) {
    check_index_dtype(index, "gather");
    check_gather_shapes(self, d, index);
  }
  Tensor out = empty(index.sizes(), self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  gather_into(out.data(), self, walk_places(self, d, index, out.strides()), "gather",
              ErrorKind::kRuntime);
  record_write(out);
  return out;
}

Tensor index_select(KeySet, const Tensor& self, int64_t dim, const Tensor& index) {
  check_kind(index.ndim() <= 1, ErrorKind::kIndex,
             "index_select(): Index is supposed to be a vector, got sizes ", index.sizes());
  check_index_dtype(index, "index_select");
  const int64_t d = wrap_dim(dim, self.ndim(), "index_select");
  check(self.ndim() || index.numel() == 1,
        "index_select(): Index to scalar can have only 1 value, got ", index.numel(), " value(s)");
  Dims sizes = self.sizes();
  if (self.ndim()) sizes[static_cast<size_t>(d)] = index.numel();
  Tensor out = empty(sizes, self.dtype(), self.device());
  if (out.is_meta()) return out;
  const IndexWalk walk = walk_slices(self, d, index, out.strides());
  if (out.numel() == 0) {
    check_places(walk, "index_select", ErrorKind::kIndex);
    return out;
  }
  gather_into(out.data(), self, walk, "index_select", ErrorKind::kIndex);
  record_write(out);
  return out;
}

Tensor take(KeySet, const Tensor& self, const Tensor& index) {
  check(index.dtype() == DType::kInt64, "take(): Expected a long tensor for index, but got ",
        info(index.dtype()).title);
  Tensor out = empty(index.sizes(), self.dtype(), self.device());
  check_kind(self.numel() > 0 || index.numel() == 0, ErrorKind::kIndex,
             "take(): tried to take from an empty tensor");
  if (out.is_meta() || out.numel() == 0) return out;
  const Tensor flat = ops::reshape(as_contiguous(self), {-1});
  Tensor positions = ops::reshape(as_contiguous(index), {-1});
  const int64_t n = positions.numel(), size = flat.numel();
  const auto* argument = positions.data_as<int64_t>();
  const int64_t bad = index_loops().outside(argument, n, -size, size);
  check_kind(bad == n, ErrorKind::kIndex, "take(): out of range: tried to access index ",
             bad < n ? argument[bad] : 0, " on a tensor of ", size, " elements.");
  if (index_loops().outside(argument, n, 0, size) < n) {
    const Tensor wrapped = empty(positions.sizes(), DType::kInt64);
    for (int64_t i = 0; i < n; ++i)
      wrapped.data_as<int64_t>()[i] = argument[i] + (argument[i] < 0 ? size : 0);
    positions = wrapped;
  }
  gather_into(out.data(), flat, walk_places(flat, 0, positions, Dims{1}), "take",
              ErrorKind::kIndex);
  record_write(out);
  return out;
}

Tensor take_along_dim(KeySet, const Tensor& self, const Tensor& indices,
                      std::optional<int64_t> dim) {
  check(indices.dtype() == DType::kInt64,
        "take_along_dim(): dtype of indices should be Long but got ", info(indices.dtype()).title);
  if (!dim) return ops::gather(ops::reshape(self, {-1}), 0, ops::reshape(indices, {-1}), false);
  check(self.ndim() == indices.ndim(),
        "take_along_dim(): input and indices should have the same number of dimensions, but got ",
        self.ndim(), " dimensions for input, and ", indices.ndim(), " dimensions for indices");
  const auto d = static_cast<size_t>(wrap_dim(*dim, self.ndim(), "take_along_dim"));
  if (self.ndim() == 0) return ops::gather(self, 0, indices, false);
  const int64_t size = self.sizes()[d];
  check(size > 0 || indices.numel() == 0, "take_along_dim(): dimension ", d,
        " of self has no elements to take");
  // Places count modulo the size, so -1 is the last one.
  const Tensor full = ops::remainder(indices, Scalar(std::max<int64_t>(size, 1)));
  const Tensor positions = ops::expand(full, spread(indices, self, d), false);
  return ops::gather(ops::expand(self, spread(self, indices, d), false), static_cast<int64_t>(d),
                     positions, false);
}

}  // namespace uh::kernels
