// Gradients of views: zeros of the viewed tensor's shape, with the gradient where the view looked.
#include "generated/kernels/view_backward.h"
#include "backend/cpu/copy/elements.h"
#include "generated/kernels/view.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/copy.h"
#include "generated/ops/view.h"
#include "ops/copy/write_out.h"

namespace uh::kernels {
namespace {

Tensor zeros_for(const Tensor& gradient, const Dims& sizes) {
  Tensor result = empty(sizes, gradient.dtype(), gradient.device());
  if (!result.is_meta()) fill_elements(result, ElementBytes{});
  return result;
}

// `gradient` into the part of `whole` that `view` describes.
Tensor filled(const Tensor& full, const Tensor& view, const Tensor& gradient) {
  check_broadcasts_to(gradient.sizes(), view.sizes(), "backward of a view");
  if (!full.is_meta()) copy_elements(view, gradient);
  record_write(full);
  return full;
}

}  // namespace

Tensor select_backward(KeySet keys, const Tensor& grad_output, const Dims& input_sizes, int64_t dim,
                       int64_t index) {
  const Tensor full = zeros_for(grad_output, input_sizes);
  return filled(full, select(keys, full, dim, index), grad_output);
}

Tensor slice_backward(KeySet keys, const Tensor& grad_output, const Dims& input_sizes, int64_t dim,
                      std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  const Tensor full = zeros_for(grad_output, input_sizes);
  return filled(full, slice(keys, full, dim, start, end, step), grad_output);
}

Tensor diagonal_backward(KeySet keys, const Tensor& grad_output, const Dims& input_sizes,
                         int64_t offset, int64_t dim1, int64_t dim2) {
  const Tensor full = zeros_for(grad_output, input_sizes);
  return filled(full, diagonal(keys, full, offset, dim1, dim2), grad_output);
}

// One position of the window at a time: those of different windows never meet.
Tensor unfold_backward(KeySet keys, const Tensor& grad_in, const Dims& input_sizes, int64_t dim,
                       int64_t size, int64_t step) {
  const Tensor full = zeros_for(grad_in, input_sizes);
  const Tensor windows = unfold(keys, full, dim, size, step);
  check(windows.sizes() == grad_in.sizes(), "unfold_backward: the gradient has sizes ",
        grad_in.sizes(), ", the windows ", windows.sizes());
  if (input_sizes.empty()) {
    return filled(full, full, ops::reshape(grad_in, Dims{}));
  }
  for (int64_t at = 0; at < size; ++at)
    ops::add_(select(keys, windows, -1, at), select(keys, grad_in, -1, at), Scalar(1));
  return full;
}

Tensor as_strided_backward(KeySet, const Tensor& grad, const Dims& input_sizes,
                           const Dims& input_strides, int64_t input_offset, const Dims& size,
                           const Dims& stride, int64_t offset) {
  check(input_sizes.size() == input_strides.size() && size.size() == stride.size(),
        "as_strided_backward: sizes and strides must have the same length");
  check(grad.sizes() == size, "as_strided_backward: the gradient has sizes ", grad.sizes(),
        ", the view ", size);
  Tensor result = empty(input_sizes, grad.dtype(), grad.device());
  if (result.is_meta() || result.numel() == 0) return result;
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
  // Calls visit(address) for every element in row-major order.
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
  visit_any(grad.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> sums(static_cast<size_t>(room), T{});
    std::vector<int64_t> shared(static_cast<size_t>(room), 0);
    const T* from = dense.data_as<T>();
    walk(size, stride, offset, [&](int64_t at) {
      auto&& sum = sums[static_cast<size_t>(at)];
      sum = static_cast<T>(sum + *from++);
    });
    walk(input_sizes, input_strides, input_offset,
         [&](int64_t at) { ++shared[static_cast<size_t>(at)]; });
    T* to = result.data_as<T>();
    // Several elements of the input at one address share what arrived there.
    walk(input_sizes, input_strides, input_offset, [&](int64_t at) {
      const auto i = static_cast<size_t>(at);
      *to++ = shared[i] > 1
                  ? static_cast<T>(sums[i] / static_cast<T>(static_cast<double>(shared[i])))
                  : sums[i];
    });
  });
  record_write(result);
  return result;
}

}  // namespace uh::kernels
