// The shape rules and composites of gather.yaml.
#include "generated/kernels/gather.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/gather.h"
#include "generated/ops/view.h"
#include "ops/gather/shapes.h"
#include "ops/index_checks.h"

namespace uh::shapes {
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

}  // namespace

Tensor gather(const Tensor& self, int64_t dim, const Tensor& index) {
  const int64_t d = wrap_dim(dim, self.ndim(), "gather");
  if (index.numel() > 0) {
    check_index_dtype(index, "gather");
    check_gather_shapes(self, d, index);
  }
  return empty(index.sizes(), self.dtype(), self.device());
}

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  check_kind(index.ndim() <= 1, ErrorKind::kIndex,
             "index_select(): Index is supposed to be a vector, got sizes ", index.sizes());
  check_index_dtype(index, "index_select");
  const int64_t d = wrap_dim(dim, self.ndim(), "index_select");
  check(self.ndim() || index.numel() == 1,
        "index_select(): Index to scalar can have only 1 value, got ", index.numel(), " value(s)");
  check(self.ndim() < 2 || index.numel() == 0 || self.size(d) > 0,
        "index_select(): self indexing axis dim should be positive");
  Dims sizes = self.sizes();
  if (self.ndim()) sizes[static_cast<size_t>(d)] = index.numel();
  return empty(sizes, self.dtype(), self.device());
}

Tensor take(const Tensor& self, const Tensor& index) {
  check(index.dtype() == DType::kInt64, "take(): Expected a long tensor for index, but got ",
        info(index.dtype()).title);
  check_kind(self.numel() > 0 || index.numel() == 0, ErrorKind::kIndex,
             "take(): tried to take from an empty tensor");
  return empty(index.sizes(), self.dtype(), self.device());
}

}  // namespace uh::shapes

namespace uh::kernels {
namespace {

// Returns the broadcast of two shapes, with dimension `dim` as in `own`.
Dims spread(const Tensor& own, const Tensor& other, size_t dim) {
  Dims own_sizes = own.sizes(), other_sizes = other.sizes();
  own_sizes[dim] = other_sizes[dim] = 1;
  Dims sizes = broadcast_shapes(own_sizes, other_sizes);
  sizes[dim] = own.sizes()[dim];
  return sizes;
}

}  // namespace

Tensor take_along_dim(KeySet, const Tensor& self, const Tensor& indices,
                      std::optional<int64_t> dim) {
  check(indices.dtype() == DType::kInt64 || indices.dtype() == DType::kInt32,
        "take_along_dim(): dtype of indices should be Long but got ", info(indices.dtype()).title);
  if (!dim) return ops::gather(ops::reshape(self, {-1}), 0, ops::reshape(indices, {-1}), false);
  check(indices.dtype() == DType::kInt64,
        "take_along_dim(): dtype of indices should be Long but got Int");
  check(self.ndim() == indices.ndim(),
        "take_along_dim(): input and indices should have the same number of dimensions, but got ",
        self.ndim(), " dimensions for input, and ", indices.ndim(), " dimensions for indices");
  const auto d = static_cast<size_t>(wrap_dim(*dim, self.ndim(), "take_along_dim"));
  if (self.ndim() == 0) return ops::gather(self, 0, indices, false);
  const int64_t size = self.sizes()[d];
  check(size > 0 || indices.numel() == 0, "take_along_dim(): dimension ", d,
        " of self has no elements to take");
  // Indices are taken modulo the size, so -1 is the last element.
  const Tensor full = ops::remainder(indices, Scalar(std::max<int64_t>(size, 1)));
  const Tensor positions = ops::expand(full, spread(indices, self, d), false);
  return ops::gather(ops::expand(self, spread(self, indices, d), false), static_cast<int64_t>(d),
                     positions, false);
}

}  // namespace uh::kernels
