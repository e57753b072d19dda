#include "ops/index/plan.h"

#include <algorithm>
#include <string>

#include "tensor/stride_order.h"

namespace uh {
namespace {

Dims broadcast_indices(const std::vector<Tensor>& indices) {
  Dims sizes;
  try {
    for (const Tensor& t : indices) {
      if (t) sizes = broadcast_shapes(sizes, t.sizes());
    }
  } catch (const Error&) {
    std::string shapes;
    for (const Tensor& t : indices) {
      if (t) shapes += (shapes.empty() ? "" : ", ") + to_string(t.sizes());
    }
    fail(ErrorKind::kIndex,
         "shape mismatch: indexing tensors could not be broadcast together with shapes ", shapes);
  }
  return sizes;
}

}  // namespace

Dims IndexPlan::result_sizes() const {
  Dims sizes = before;
  for (int64_t s : index_sizes) sizes.push_back(s);
  for (int64_t s : after) sizes.push_back(s);
  return sizes;
}

// As PyTorch's TensorIterator allocates: `self` broadcasts along the index dimensions, an index
// along the others.
Dims IndexPlan::result_strides() const {
  const Dims sizes = result_sizes();
  const int64_t numel = checked_numel(sizes, "index");
  // Contiguous operands of one shape make the result contiguous.
  if (numel <= 1 && numel_of(before) == 1 && numel_of(after) == 1) return contiguous_strides(sizes);
  struct Operand {
    Dims strides;
  };
  std::vector<Operand> operands;
  const auto add = [&](const Dims& lo, const Dims& mid, const Dims& hi) {
    Dims strides = lo;
    for (int64_t s : mid) strides.push_back(s);
    for (int64_t s : hi) strides.push_back(s);
    operands.push_back({strides});
  };
  add(before_strides, Dims(index_sizes.size(), 0), after_strides);
  for (const Dims& own : index_strides) {
    // Dimensions of size 1 around the index count if they have size 1 in the result as well.
    const int64_t inner = own.empty() ? 1 : own.back();
    const int64_t outer = own.empty() ? 1 : own[0] * index_sizes[0];
    Dims lo(before.size()), hi(after.size());
    for (size_t d = 0; d < before.size(); ++d) lo[d] = before[d] == 1 ? outer : 0;
    for (size_t d = 0; d < after.size(); ++d) hi[d] = after[d] == 1 ? inner : 0;
    add(lo, own, hi);
  }
  return dense_strides(sizes, stride_order(sizes, operands));
}

IndexPlan plan_indices(const Tensor& self, const std::vector<Tensor>& per_dim) {
  for (const Tensor& t : per_dim) {
    check_kind(!t || t.dtype() == DType::kInt64 || t.dtype() == DType::kInt32, ErrorKind::kIndex,
               "tensors used as indices must be long, int, byte or bool tensors, got ",
               t ? name(t.dtype()) : "");
  }
  IndexPlan a;
  a.index_sizes = broadcast_indices(per_dim);
  const bool has_indices = checked_numel(a.index_sizes, "index") > 0;
  size_t first = per_dim.size(), last = 0, indexed = 0;
  for (size_t d = 0; d < per_dim.size(); ++d) {
    if (!per_dim[d]) continue;
    first = std::min(first, d);
    last = d;
    ++indexed;
    check_kind(self.sizes()[d] > 0 || !has_indices, ErrorKind::kIndex,
               "index is out of bounds for dimension ", d, " with size 0");
    a.index_strides.push_back(
        operand_strides(per_dim[d].sizes(), per_dim[d].strides(), a.index_sizes));
  }
  const bool adjacent = indexed > 0 && last - first + 1 == indexed;
  for (size_t d = 0; d < per_dim.size(); ++d) {
    if (per_dim[d]) continue;
    const bool is_before = adjacent && d < first;
    (is_before ? a.before : a.after).push_back(self.sizes()[d]);
    (is_before ? a.before_strides : a.after_strides).push_back(self.strides()[d]);
  }
  return a;
}

Tensor only_mask(const Tensor& self, const std::vector<Tensor>& indices) {
  Tensor mask;
  int64_t dims = 0, end = 0;
  for (const Tensor& t : indices) {
    if (!t) {
      ++dims;
      continue;
    }
    if (mask || !is_mask(t)) return Tensor();
    if (dims + t.ndim() > self.ndim()) return Tensor();
    for (int64_t d = 0; d < t.ndim(); ++d) {
      if (t.size(d) != self.size(dims + d)) return Tensor();  // reported by index_per_dim
    }
    mask = t;
    end = dims += t.ndim();
  }
  if (!mask) return mask;
  Layout layout{mask.sizes(), mask.strides(), mask.offset()};
  for (; end < self.ndim(); ++end) {
    layout.sizes.push_back(1);
    layout.strides.push_back(1);
  }
  return alias(mask, layout);
}

void check_put_values(const Tensor& values, const Dims& sizes) {
  bool fits = values.ndim() <= sizes.ndim();
  for (int64_t d = 0; fits && d < values.ndim() && values.numel() != 1; ++d) {
    const int64_t size = values.size(d);
    fits = size == 1 || size == sizes[static_cast<size_t>(d + sizes.ndim() - values.ndim())];
  }
  check(fits, "shape mismatch: value tensor of shape ", values.sizes(),
        " cannot be broadcast to indexing result of shape ", sizes);
}

}  // namespace uh
