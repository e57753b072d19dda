// Strides of a result, derived from those of the operands.
#pragma once

#include <algorithm>
#include <utility>

#include "tensor/tensor_impl.h"

namespace uh {

// The order of dimensions, outermost first, in which to iterate over operands of these `strides`
// (one for each of `sizes`; 0: broadcast, ambiguous). PyTorch's TensorIterator rule: the first
// operand that is not ambiguous for two dimensions decides; without one, the larger dimension is
// outside.
template <class Operands>
Dims stride_order(IntSpan sizes, const Operands& operands) {
  const size_t n = sizes.size();
  Dims order(n);
  for (size_t i = 0; i < n; ++i) order[i] = static_cast<int64_t>(i);
  auto should_swap = [&](int64_t outer, int64_t inner) {  // -1 keep, 1 swap, 0 no opinion
    for (const auto& operand : operands) {
      const int64_t a = operand.strides[static_cast<size_t>(outer)];
      const int64_t b = operand.strides[static_cast<size_t>(inner)];
      if (a == 0 || b == 0) continue;
      if (a != b) return a < b ? 1 : -1;
      if (sizes[static_cast<size_t>(outer)] < sizes[static_cast<size_t>(inner)]) return 1;
    }
    return 0;
  };
  for (size_t i = 1; i < n; ++i) {  // insertion sort: ambiguous comparisons are not transitive
    size_t at = i;
    for (size_t j = i; j-- > 0;) {
      // order is outermost first, so the sort runs from the innermost dimension outwards.
      const size_t outer = n - 1 - at, inner = n - 1 - j;
      const int verdict = should_swap(order[outer], order[inner]);
      if (verdict > 0) {
        std::swap(order[outer], order[inner]);
        at = j;
      } else if (verdict < 0) {
        break;
      }
    }
  }
  return order;
}

// The strides of an operand expanded to the broadcast shape: 0 in expanded dimensions.
inline Dims operand_strides(IntSpan sizes, IntSpan strides, IntSpan shape) {
  Dims result(shape.size());
  const size_t shift = shape.size() - sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool repeats = sizes[d] == 1 && shape[d + shift] != 1;
    result[d + shift] = repeats ? 0 : strides[d];
  }
  return result;
}

// Dense strides for the dimensions in `order` (outermost first).
inline Dims dense_strides(IntSpan sizes, const Dims& order) {
  // Row-major order uses contiguous_strides; another order multiplies a size of 0 as it is, as in
  // PyTorch.
  if (std::is_sorted(order.begin(), order.end())) return contiguous_strides(sizes);
  Dims strides(sizes.size());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    strides[d] = step;
    step *= sizes[d];
  }
  return strides;
}

// True if all strides are row-major, including those of dimensions of size 1.
inline bool has_row_major_strides(const Layout& layout) {
  int64_t step = 1;
  for (size_t i = layout.sizes.size(); i-- > 0;) {
    if (layout.strides[i] != step) return false;
    step *= layout.sizes[i] > 1 ? layout.sizes[i] : 1;
  }
  return true;
}

}  // namespace uh
