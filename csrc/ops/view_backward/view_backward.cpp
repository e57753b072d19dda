// The composites of view_backward.yaml: zeros of the viewed tensor's shape, with the gradient
// written at the view.
#include <algorithm>

#include "generated/kernels/view.h"
#include "generated/kernels/view_backward.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/view.h"
#include "ops/copy/any_device.h"
#include "ops/copy/write_out.h"

namespace uh::kernels {
namespace {

// Writes `gradient` to the part of `full` that `view` describes.
Tensor filled(const Tensor& full, const Tensor& view, const Tensor& gradient) {
  check_broadcasts_to(gradient.sizes(), view.sizes(), "backward of a view");
  write_elements(view, gradient);
  record_write(full);
  return full;
}

}  // namespace

Tensor select_backward(KeySet keys, const Tensor& grad_output, const Dims& input_sizes, int64_t dim,
                       int64_t index) {
  const Tensor full = zeros_on(input_sizes, grad_output.dtype(), grad_output.device());
  return filled(full, select(keys, full, dim, index), grad_output);
}

Tensor slice_backward(KeySet keys, const Tensor& grad_output, const Dims& input_sizes, int64_t dim,
                      std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  const Tensor full = zeros_on(input_sizes, grad_output.dtype(), grad_output.device());
  return filled(full, slice(keys, full, dim, start, end, step), grad_output);
}

Tensor diagonal_backward(KeySet keys, const Tensor& grad_output, const Dims& input_sizes,
                         int64_t offset, int64_t dim1, int64_t dim2) {
  const Tensor full = zeros_on(input_sizes, grad_output.dtype(), grad_output.device());
  return filled(full, diagonal(keys, full, offset, dim1, dim2), grad_output);
}

// Adds `step` positions of the windows at a time: these never overlap between windows.
Tensor unfold_backward(KeySet keys, const Tensor& grad_in, const Dims& input_sizes, int64_t dim,
                       int64_t size, int64_t step) {
  const Tensor full = zeros_on(input_sizes, grad_in.dtype(), grad_in.device());
  // A step past the end is limited: its stride in bytes may not fit 64 bits.
  int64_t longest = 0;
  for (const int64_t n : input_sizes) longest = std::max(longest, n);
  const Tensor windows = unfold(keys, full, dim, size, std::min(step, longest + 1));
  check(windows.sizes() == grad_in.sizes(), "unfold_backward: the gradient has sizes ",
        grad_in.sizes(), ", the windows ", windows.sizes());
  if (input_sizes.empty()) {
    return size == 0 ? full : filled(full, full, ops::reshape(grad_in, Dims{}));
  }
  for (int64_t at = 0; at < size; at += std::min(step, size - at)) {
    const int64_t length = std::min(step, size - at);
    ops::add_(narrow(keys, windows, -1, at, length), narrow(keys, grad_in, -1, at, length),
              Scalar(1));
  }
  return full;
}

}  // namespace uh::kernels
