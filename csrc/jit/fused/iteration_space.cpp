#include "jit/fused/iteration_space.h"

#include <algorithm>

#include "ops/geometry.h"
#include "tensor/result_strides.h"

namespace uh::jit::fused {
namespace {

// The layout in which a step reads its operand k: as in eager mode, one of another dtype is
// converted before the loop.
Layout read_layout(const FusedKernel& program, const Step& step, size_t k, const Layout& operand) {
  const auto dtype = [&](int id) { return program.kind(id).dtype; };
  if (dtype(step.operands[k]) == dtype(step.unconverted[k])) return operand;
  return {operand.sizes, strides_like(operand), 0};
}

}  // namespace

std::vector<Layout> layouts(const FusedKernel& program, std::span<const Tensor> inputs) {
  std::vector<Layout> result(program.items.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    result[static_cast<size_t>(program.inputs[i])] = inputs[i].impl()->layout();
  for (const Step& step : program.steps) {
    if (!step.live) continue;
    std::array<Layout, kMaxOperands> operands;
    size_t n = 0;
    Dims sizes;
    for (size_t k = 0; k < step.arity; ++k) {
      if (program.is_number(step.unconverted[k])) continue;
      const Layout& operand = result[static_cast<size_t>(step.unconverted[k])];
      sizes = n == 0 ? operand.sizes : broadcast_shapes(sizes, operand.sizes);
      operands[n++] = read_layout(program, step, k, operand);
    }
    Dims strides =
        result_strides(step.strides, sizes, std::span(operands).first(n), n < step.arity);
    result[static_cast<size_t>(step.result)] = {std::move(sizes), std::move(strides), 0};
  }
  return result;
}

Space::Space(const Layout& first, bool row_major) : ndim(first.sizes.size()) {
  for (size_t d = 0; d < first.sizes.size(); ++d) {
    if (first.sizes[d] != 1) order.push_back(static_cast<int64_t>(d));
  }
  if (!row_major) {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return first.strides[static_cast<size_t>(a)] > first.strides[static_cast<size_t>(b)];
    });
  }
  for (const int64_t d : order) sizes.push_back(first.sizes[static_cast<size_t>(d)]);
}

StridedOperand::StridedOperand(const Space& space, const Layout& layout, std::byte* data,
                               int64_t item)
    : data_(data), item_(item) {
  const Dims strides = broadcast_strides(layout.sizes, layout.strides, space.ndim);
  for (size_t i = 0; i < space.sizes.size(); ++i) {
    const int64_t size = space.sizes[i], stride = strides[static_cast<size_t>(space.order[i])];
    if (!sizes_.empty() && strides_.back() == stride * size) {
      sizes_[sizes_.size() - 1] *= size;
      strides_[sizes_.size() - 1] = stride;
    } else {
      sizes_.push_back(size);
      strides_.push_back(stride);
    }
  }
  if (sizes_.empty()) {  // one element
    sizes_.push_back(1);
    strides_.push_back(1);
  }
  index_ = Dims(sizes_.size());
}

void StridedOperand::seek(int64_t position) {
  offset_ = 0;
  for (size_t d = sizes_.size(); d-- > 0;) {
    index_[d] = position % sizes_[d];
    position /= sizes_[d];
    offset_ += index_[d] * strides_[d];
  }
}

// Calls part(element, stride, count) for each evenly strided piece of the next n elements.
template <class Part>
void StridedOperand::parts(int64_t n, const Part& part) {
  const size_t last = sizes_.size() - 1;
  while (n > 0) {
    const int64_t count = std::min(n, sizes_[last] - index_[last]);
    part(data_ + offset_ * item_, strides_[last], count);
    n -= count;
    index_[last] += count;
    offset_ += count * strides_[last];
    for (size_t d = last; index_[d] == sizes_[d] && d > 0; --d) {
      offset_ += strides_[d - 1] - sizes_[d] * strides_[d];
      index_[d] = 0;
      ++index_[d - 1];
    }
  }
}

void StridedOperand::read(std::byte* to, int64_t n) {
  const CopyLoops& loops = copy_loops();
  const auto width = static_cast<size_t>(size_class(item_));
  parts(n, [&](std::byte* from, int64_t stride, int64_t count) {
    if (stride == 0)
      loops.fill[width](to, 1, from, count);
    else
      loops.move[width](to, 1, from, stride, count);
    to += count * item_;
  });
}

void StridedOperand::write(const std::byte* from, int64_t n) {
  const auto move = copy_loops().move[size_class(item_)];
  parts(n, [&](std::byte* to, int64_t stride, int64_t count) {
    move(to, stride, from, 1, count);
    from += count * item_;
  });
}

}  // namespace uh::jit::fused
