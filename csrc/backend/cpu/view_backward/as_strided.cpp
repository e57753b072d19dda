// The gradient of as_strided: input elements at the same address share the gradient there.
#include "backend/cpu/copy/elements.h"
#include "generated/kernels/view_backward.h"

namespace uh::kernels {

void as_strided_backward(const Tensor& grad, const Dims& input_sizes, const Dims& input_strides,
                         int64_t input_offset, const Dims& size, const Dims& stride,
                         int64_t offset, const Tensor& result) {
  if (result.numel() == 0) return;
  const int64_t base = std::min(input_offset, offset);
  const int64_t room =
      static_cast<int64_t>(result.storage()->nbytes()) / itemsize(result.dtype());
  const Tensor memory = alias(result, {Dims{room}, Dims{1}, 0});
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
}

}  // namespace uh::kernels
