// The gradient of as_strided: input elements at the same address share the gradient there.
#include "backend/cpu/copy/elements.h"
#include "generated/kernels/view_backward.h"

namespace uh::kernels {

Tensor as_strided_backward(KeySet, const Tensor& grad, const Dims& input_sizes,
                           const Dims& input_strides, int64_t input_offset, const Dims& size,
                           const Dims& stride, int64_t offset) {
  check(input_sizes.size() == input_strides.size() && size.size() == stride.size(),
        "as_strided_backward: sizes and strides must have the same length");
  check(grad.sizes() == size, "as_strided_backward: the gradient has sizes ", grad.sizes(),
        ", the view ", size);
  if (numel_of(input_sizes) == 0) return empty(input_sizes, grad.dtype(), grad.device());
  const int64_t base = std::min(input_offset, offset);
  constexpr int64_t kMost = int64_t{1} << 44;
  const auto reach = [&](const Dims& sizes, const Dims& strides, int64_t from) {
    if (numel_of(sizes) == 0) return int64_t{0};
    int64_t last = 0, along = 0;
    bool fits = base >= 0 && !__builtin_sub_overflow(from, base, &last);
    for (size_t d = 0; d < sizes.size(); ++d)
      fits = fits && strides[d] >= 0 && !__builtin_mul_overflow(sizes[d] - 1, strides[d], &along) &&
             !__builtin_add_overflow(last, along, &last);
    check(fits && last < kMost, "as_strided_backward: sizes ", sizes, ", strides ", strides,
          " and offset ", from, " describe no tensor");
    return last + 1;
  };
  const int64_t room =
      std::max(reach(input_sizes, input_strides, input_offset), reach(size, stride, offset));
  // Calls visit(address) for each element in row-major order.
  const auto walk = [&](const Dims& sizes, const Dims& strides, int64_t from, const auto& visit) {
    Dims index(sizes.size());
    int64_t at = from - base;
    for (int64_t i = 0, n = numel_of(sizes); i < n; ++i) {
      visit(at);
      for (size_t d = sizes.size(); d-- > 0;) {
        at += strides[d];
        if (++index[d] < sizes[d]) break;
        at -= sizes[d] * strides[d];
        index[d] = 0;
      }
    }
  };
  // The memory of input and view: the result has the input's strides.
  const Tensor memory = empty(Dims{room}, grad.dtype(), grad.device());
  const Tensor result = alias(memory, {input_sizes, input_strides, input_offset - base});
  if (result.is_meta()) return result;
  const Tensor dense = as_contiguous(grad);
  fill_elements(memory, ElementBytes{});
  visit_any(grad.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* const sums = memory.data_as<T>();
    std::vector<int64_t> shared(static_cast<size_t>(room), 0);
    const T* from = dense.data_as<T>();
    walk(size, stride, offset, [&](int64_t at) { sums[at] = static_cast<T>(sums[at] + *from++); });
    walk(input_sizes, input_strides, input_offset,
         [&](int64_t at) { ++shared[static_cast<size_t>(at)]; });
    // Input elements at one address share its gradient.
    for (int64_t at = 0; at < room; ++at) {
      const int64_t sharers = shared[static_cast<size_t>(at)];
      if (sharers > 1)
        sums[at] = static_cast<T>(sums[at] / static_cast<T>(static_cast<double>(sharers)));
    }
  });
  record_write(result);
  return result;
}

}  // namespace uh::kernels
