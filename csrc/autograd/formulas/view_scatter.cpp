#include "autograd/formulas/view_scatter.h"

#include "generated/ops/creation.h"
#include "generated/ops/view.h"
#include "generated/ops/view_copy.h"
#include "generated/ops/view_scatter.h"

namespace uh::autograd {

// Copies the gradient to self's layout, so that the view's strides address the same elements.
std::tuple<Tensor, Tensor> as_strided_scatter_backward(const Tensor& grad, const Dims& sizes,
                                                       const Dims& strides, int64_t offset,
                                                       const Dims& part_sizes,
                                                       const Dims& part_strides,
                                                       std::optional<int64_t> part_offset) {
  int64_t room = offset + 1;
  for (size_t d = 0; d < sizes.size(); ++d) room += std::max<int64_t>(sizes[d] - 1, 0) * strides[d];
  int64_t part_room = part_offset.value_or(offset) + 1;
  for (size_t d = 0; d < part_sizes.size(); ++d)
    part_room += std::max<int64_t>(part_sizes[d] - 1, 0) * part_strides[d];
  const Tensor storage = ops::zeros(Dims{std::max(room, part_room)}, grad.dtype(), grad.device());
  const Tensor laid = ops::as_strided_scatter(storage, grad, sizes, strides, offset);
  const int64_t at = part_offset.value_or(offset);
  const Tensor src = ops::as_strided_copy(laid, part_sizes, part_strides, at);
  const Tensor none = ops::zeros(part_sizes, grad.dtype(), grad.device());
  const Tensor remainder = ops::as_strided_scatter(laid, none, part_sizes, part_strides, at);
  return {ops::as_strided_copy(remainder, sizes, strides, offset), src};
}

}  // namespace uh::autograd
