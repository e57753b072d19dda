#include "backend/cpu/tensor_iterator.h"

#include "backend/cpu/loop_plan.h"
#include "tensor/stride_order.h"

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

Dims TensorIterator::order() const { return stride_order(sizes_, std::span(operands_).first(n_)); }

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
  size_t remaining = 0;
  for (size_t d = 0; d < sizes_.size(); ++d) {
    if (sizes_[d] == 1) continue;
    bool even = remaining > 0;
    for (size_t k = 0; k < n_ && even; ++k) {
      even = operands_[k].strides[remaining - 1] == operands_[k].strides[d] * sizes_[d];
    }
    if (even) {
      sizes_[remaining - 1] *= sizes_[d];
    } else {
      sizes_[remaining++] = sizes_[d];
    }
    for (size_t k = 0; k < n_; ++k) operands_[k].strides[remaining - 1] = operands_[k].strides[d];
  }
  sizes_.resize(remaining);
  for (size_t k = 0; k < n_; ++k) operands_[k].strides.resize(remaining);
}

void TensorIterator::record_iteration(int64_t threads, std::string_view loop) const {
  Plan plan{.loop = loop, .sizes = sizes_, .operands = {}, .threads = threads};
  plan.operands.reserve(n_);
  for (size_t k = 0; k < n_; ++k)
    plan.operands.push_back({operands_[k].itemsize, operands_[k].strides});
  record_plan(plan);
}

}  // namespace uh
