#include "jit/fused/iteration_space.h"

#include <algorithm>

#include "backend/cpu/tensor_iterator.h"
#include "ops/geometry.h"
#include "tensor/stride_order.h"

namespace uh::jit::fused {
namespace {

bool row_major(const Shape& shape) {
  int64_t expected = 1;
  for (size_t d = shape.sizes.size(); d-- > 0;) {
    if (shape.sizes[d] != 1 && shape.strides[d] != expected) return false;
    expected *= shape.sizes[d];
  }
  return true;
}

// Strides of a result: row-major if all operands are or if it is empty, else by the operands'
// stride order.
Dims strides_of(const Dims& sizes, const std::vector<const Shape*>& operands) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return contiguous_strides(sizes);
  const bool flat = std::all_of(operands.begin(), operands.end(),
                                [&](const Shape* s) { return s->sizes == sizes && row_major(*s); });
  if (flat) return contiguous_strides(sizes);
  TensorIterator space(sizes);
  for (const Shape* s : operands) space.add(nullptr, s->sizes, s->strides, 1);
  return dense_strides(sizes, space.order());
}

// Strides of a copy: keeps the order of the dimensions, unless one is expanded.
Dims strides_like(const Shape& shape, const Dims& sizes) {
  bool repeats = !(shape.sizes == sizes);
  for (size_t d = 0; d < shape.sizes.size(); ++d)
    repeats = repeats || (shape.strides[d] == 0 && shape.sizes[d] > 1);
  return repeats ? contiguous_strides(sizes) : strides_of(sizes, {&shape});
}

}  // namespace

std::vector<Shape> layouts(const FusedKernel& program, std::span<const Tensor> inputs) {
  std::vector<Shape> shapes(program.items.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    Shape& shape = shapes[static_cast<size_t>(program.inputs[i])];
    shape = {inputs[i].sizes(), inputs[i].strides()};
  }
  for (const Step& step : program.steps) {
    if (!step.live) continue;
    std::vector<const Shape*> operands;
    Dims sizes;
    for (size_t k = 0; k < step.arity; ++k) {
      const auto id = static_cast<size_t>(step.unconverted[k]);
      const Item::ItemKind is = program.items[id].is;
      if (is == Item::ItemKind::kNumber || is == Item::ItemKind::kGiven) continue;
      sizes = operands.empty() ? shapes[id].sizes : broadcast_shapes(sizes, shapes[id].sizes);
      operands.push_back(&shapes[id]);
    }
    const auto like = static_cast<size_t>(step.like < 0 ? 0 : step.unconverted[step.like]);
    Dims strides = step.like < 0 ? strides_of(sizes, operands) : strides_like(shapes[like], sizes);
    shapes[static_cast<size_t>(step.result)] = {std::move(sizes), std::move(strides)};
  }
  return shapes;
}

Space::Space(const Shape& first, bool row_major) : ndim(first.sizes.size()) {
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

StridedOperand::StridedOperand(const Space& space, const Shape& shape, std::byte* data,
                               int64_t item)
    : data_(data), item_(item) {
  const Dims strides = broadcast_strides(shape.sizes, shape.strides, space.ndim);
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
