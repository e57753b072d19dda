#include "ops/view_backward/shapes.h"

#include <algorithm>

namespace uh::shapes {

Tensor as_strided_backward(const Tensor& grad, const Dims& input_sizes, const Dims& input_strides,
                           int64_t input_offset, const Dims& size, const Dims& stride,
                           int64_t offset) {
  check(input_sizes.size() == input_strides.size() && size.size() == stride.size(),
        "as_strided_backward: sizes and strides must have the same length");
  check(grad.sizes() == size, "as_strided_backward: the gradient has sizes ", grad.sizes(),
        ", the view ", size);
  if (checked_numel(input_sizes, "as_strided_backward") == 0 || numel_of(size) == 0)
    return empty(input_sizes, grad.dtype(), grad.device());
  const int64_t base = std::min(input_offset, offset);
  constexpr int64_t kMaxElements = int64_t{1} << 44;
  const auto reach = [&](const Dims& sizes, const Dims& strides, int64_t from) {
    if (numel_of(sizes) == 0) return int64_t{0};
    int64_t last = 0, along = 0;
    bool fits = base >= 0 && !__builtin_sub_overflow(from, base, &last);
    for (size_t d = 0; d < sizes.size(); ++d)
      fits = fits && strides[d] >= 0 && !__builtin_mul_overflow(sizes[d] - 1, strides[d], &along) &&
             !__builtin_add_overflow(last, along, &last);
    check(fits && last < kMaxElements, "as_strided_backward: sizes ", sizes, ", strides ", strides,
          " and offset ", from, " describe no tensor");
    return last + 1;
  };
  const int64_t room =
      std::max(reach(input_sizes, input_strides, input_offset), reach(size, stride, offset));
  const Tensor memory = empty(Dims{room}, grad.dtype(), grad.device());
  return alias(memory, {input_sizes, input_strides, input_offset - base});
}

}  // namespace uh::shapes
