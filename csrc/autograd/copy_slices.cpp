#include "autograd/copy_slices.h"

#include <utility>

#include "autograd/autograd_meta.h"
#include "autograd/saved_tensor.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/view.h"
#include "generated/ops/view_backward.h"
#include "tensor/dense.h"

namespace uh::autograd {
namespace {

bool reads_as(DType base, DType view) {
  return base == view || (is_complex(base) && itemsize(base) == 2 * itemsize(view));
}

// The part of `full` that a view describes, after view_as_real or view_as_complex if the dtypes
// differ.
Tensor part(const Tensor& full, DType full_dtype, const Layout& layout, DType dtype) {
  Tensor source = full;
  if (full_dtype != dtype)
    source = is_complex(dtype) ? ops::view_as_complex(full) : ops::view_as_real(full);
  return ops::as_strided(source, layout.sizes, layout.strides, layout.offset);
}

// Copies the gradient to new memory with the layout of `like`.
Tensor copy_with_layout(const Layout& like, const Tensor& gradient) {
  Tensor result = empty_strided(like.sizes, like.strides, gradient.dtype(), gradient.device());
  ops::copy_(result, gradient, false);
  return result;
}

// Makes the view's offset, which counts from the start of the Storage, relative to the base.
Layout relative(const Layout& view, DType dtype, const Layout& base, DType base_dtype) {
  Layout moved = view;
  moved.offset -= base.offset * itemsize(base_dtype) / itemsize(dtype);
  return moved;
}

// True if the view has every number of the base, as view_as_real and view_as_complex give it:
// x.real has not.
bool is_whole(const Tensor& base, const Tensor& view) {
  const Tensor& numbers = is_complex(base.dtype()) ? view : base;
  const Tensor& pairs = is_complex(base.dtype()) ? base : view;
  return numbers.ndim() == pairs.ndim() + 1 && numbers.size(numbers.ndim() - 1) == 2;
}

// The bytes from the start of a tensor's memory to the end of its last element. The layout has
// elements.
int64_t bytes_reached(const Layout& layout, DType dtype) {
  int64_t last = layout.offset;
  for (size_t d = 0; d < layout.sizes.size(); ++d)
    last += (layout.sizes[d] - 1) * layout.strides[d];
  return (last + 1) * itemsize(dtype);
}

// AsStridedBackward0: writes the gradient of a view into zeros of the base's shape.
class ViewNode final : public Node {
 public:
  ViewNode(const Tensor& base, const Tensor& view, std::string name)
      : name_(std::move(name)),
        base_(base.impl()->layout()),
        view_(relative(view.impl()->layout(), view.dtype(), base_, base.dtype())),
        base_dtype_(base.dtype()),
        view_dtype_(view.dtype()) {}
  std::string name() const override { return name_; }

  Gradients apply(Gradients gradients) override {
    Gradients result(1);
    const Tensor& gradient = gradients[0];
    if (!gradient || !needs(0)) return result;
    result[0] = is_placed() ? placed(gradient) : summed(gradient);
    return result;
  }

 private:
  // Without elements to place the gradient is as_strided's: row-major zeros without history. A view
  // that `out=` or resize_() has enlarged may reach beyond its base.
  bool is_placed() const {
    return is_non_overlapping(view_) && numel_of(view_.sizes) != 0 && numel_of(base_.sizes) != 0 &&
           bytes_reached(view_, view_dtype_) <=
               bytes_reached(Layout{base_.sizes, base_.strides, 0}, base_dtype_);
  }

  Tensor placed(const Tensor& gradient) const {
    Tensor full = empty_strided(base_.sizes, base_.strides, base_dtype_, gradient.device());
    ops::zero_(full);
    ops::copy_(part(full, base_dtype_, view_, view_dtype_), gradient, false);
    return full;
  }

  // Adds up the view's elements that are the same element of the base (expand, unfold).
  Tensor summed(const Tensor& gradient) const {
    const auto in = [&](const Layout& base) {
      return ops::as_strided_backward(gradient, base.sizes, base.strides, 0, view_.sizes,
                                      view_.strides, view_.offset);
    };
    if (base_dtype_ == view_dtype_) return in(base_);
    Layout base = base_;
    if (is_complex(base_dtype_)) {
      for (int64_t& stride : base.strides) stride *= 2;
      base.sizes.push_back(2);
      base.strides.push_back(1);
      return ops::view_as_complex(in(base));
    }
    base.sizes.resize(base.sizes.size() - 1);
    base.strides.resize(base.strides.size() - 1);
    for (int64_t& stride : base.strides) stride /= 2;
    return ops::view_as_real(in(base));
  }

  const std::string name_;
  Layout base_, view_;
  DType base_dtype_, view_dtype_;
};

}  // namespace

CopySlices::CopySlices(const Tensor& base, const Tensor& view, Ref<Node> write)
    : base_(base.impl()->layout()),
      view_(relative(view.impl()->layout(), view.dtype(), base_, base.dtype())),
      view_dtype_(view.dtype()),
      write_(std::move(write)) {
  check(reads_as(base.dtype(), view.dtype()) || reads_as(view.dtype(), base.dtype()),
        "a view of dtype ", info(view.dtype()).name, " of a tensor of dtype ",
        info(base.dtype()).name, " cannot be written in place where gradients are recorded");
  add_edge(requires_grad(base) ? gradient_edge(base) : Edge());
  for (size_t i = 1; i < write_->edges().size(); ++i) {
    const Edge& edge = write_->edges()[i];
    add_edge(Edge{edge.node, edge.input});
  }
}

Gradients CopySlices::apply(Gradients gradients) {
  Gradients result(edges().size());
  if (!gradients[0]) return result;
  if (released_) fail_released(*this);
  const Tensor full = copy_with_layout(base_, gradients[0]);
  const Tensor slice = part(full, full.dtype(), view_, view_dtype_);
  Gradients written(1);
  written[0] = ops::clone(slice, MemoryFormat::kUndefined);
  Gradients output = write_->apply(std::move(written));
  for (size_t i = 0; i < output.size() && i < result.size(); ++i) {
    if (i == 0) {
      if (output[0])
        ops::copy_(slice, output[0], false);
      else
        ops::zero_(slice);
      result[0] = full;
    } else if (needs(i)) {
      result[i] = std::move(output[i]);
    }
  }
  return result;
}

Ref<Node> view_node(const Tensor& base, const Tensor& view, const Ref<Node>& before) {
  std::string name = before ? before->name() : "";
  if (!before && base.dtype() != view.dtype() && is_whole(base, view))
    name = is_complex(base.dtype()) ? "ViewAsRealBackward0" : "ViewAsComplexBackward0";
  if (name != "ViewAsComplexBackward0" && name != "ViewAsRealBackward0")
    name = "AsStridedBackward0";
  return make_ref<ViewNode>(base, view, std::move(name));
}

}  // namespace uh::autograd
