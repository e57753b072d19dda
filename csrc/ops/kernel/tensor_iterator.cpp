#include "ops/kernel/tensor_iterator.h"

#include <algorithm>

#include "ops/kernel/loop_plan.h"

namespace uh {

void TensorIterator::add(std::byte* data, IntSpan sizes, IntSpan strides, int64_t width) {
  OperandAt& operand = operands_[n_++];
  operand.data = reinterpret_cast<char*>(data);
  operand.strides = Dims(sizes_.size());
  const size_t shift = sizes_.size() - sizes.size();
  operand.itemsize = width;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool stretched = sizes[d] == 1 && sizes_[d + shift] != 1;
    operand.strides[d + shift] = stretched ? 0 : strides[d] * width;
  }
}

void TensorIterator::add_value(void* value) {
  OperandAt& operand = operands_[n_++];
  operand.data = static_cast<char*>(value);
  operand.strides = Dims(sizes_.size());
}

// PyTorch's TensorIterator rule: the first operand that has an opinion about two dimensions
// decides; where none has, the larger dimension stays outside.
Dims TensorIterator::order() const {
  const size_t n = sizes_.size();
  Dims order(n);
  for (size_t i = 0; i < n; ++i) order[i] = static_cast<int64_t>(i);
  auto should_swap = [&](int64_t outer, int64_t inner) {  // -1 keep, 1 swap, 0 no opinion
    for (size_t k = 0; k < n_; ++k) {
      const int64_t a = operands_[k].strides[static_cast<size_t>(outer)];
      const int64_t b = operands_[k].strides[static_cast<size_t>(inner)];
      if (a == 0 || b == 0) continue;
      if (a != b) return a < b ? 1 : -1;
      if (sizes_[static_cast<size_t>(outer)] < sizes_[static_cast<size_t>(inner)]) return 1;
    }
    return 0;
  };
  for (size_t i = 1; i < n; ++i) {  // insertion sort: "no opinion" is not transitive
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

void TensorIterator::reorder(const Dims& order) {
  auto apply = [&](const Dims& old) {
    Dims moved(old.size());
    for (size_t i = 0; i < old.size(); ++i) moved[i] = old[static_cast<size_t>(order[i])];
    return moved;
  };
  sizes_ = apply(sizes_);
  for (size_t k = 0; k < n_; ++k) operands_[k].strides = apply(operands_[k].strides);
}

void TensorIterator::collapse() {
  size_t kept = 0;
  for (size_t d = 0; d < sizes_.size(); ++d) {
    if (sizes_[d] == 1) continue;
    bool even = kept > 0;
    for (size_t k = 0; k < n_ && even; ++k) {
      even = operands_[k].strides[kept - 1] == operands_[k].strides[d] * sizes_[d];
    }
    if (even) {
      sizes_[kept - 1] *= sizes_[d];
    } else {
      sizes_[kept++] = sizes_[d];
    }
    for (size_t k = 0; k < n_; ++k) operands_[k].strides[kept - 1] = operands_[k].strides[d];
  }
  sizes_.resize(kept);
  for (size_t k = 0; k < n_; ++k) operands_[k].strides.resize(kept);
}

Dims dense_strides(IntSpan sizes, const Dims& order) {
  // Row-major is said in the usual strides; another order counts a size of 0 as it is, as
  // PyTorch's.
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

void TensorIterator::tell(int64_t threads, std::string_view loop) const {
  Plan plan{.loop = loop, .sizes = sizes_, .operands = {}, .threads = threads};
  for (size_t k = 0; k < n_; ++k)
    plan.operands.push_back({operands_[k].itemsize, operands_[k].strides});
  record_plan(plan);
}

}  // namespace uh
