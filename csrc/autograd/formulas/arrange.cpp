#include "autograd/formulas/arrange.h"

#include "generated/ops/view.h"
#include "generated/ops/view_backward.h"

namespace uh::autograd {

std::vector<Tensor> block_diag_backward(const Tensor& grad, const std::vector<TensorInfo>& blocks) {
  std::vector<Tensor> result;
  int64_t row = 0, column = 0;
  for (const TensorInfo& block : blocks) {
    const int64_t rows = block.ndim() < 2 ? 1 : block.size(0);
    const int64_t columns = block.ndim() == 0 ? 1 : block.size(-1);
    const Tensor part = ops::narrow(ops::narrow(grad, 0, row, rows), 1, column, columns);
    result.push_back(ops::reshape(part, block.sizes()));
    row += rows;
    column += columns;
  }
  return result;
}

Tensor narrow_backward(const Tensor& grad, const Dims& sizes, int64_t dim, int64_t start,
                       int64_t length) {
  const int64_t size = sizes[static_cast<size_t>(dim < 0 ? dim + sizes.ndim() : dim)];
  const int64_t first = start < 0 ? start + size : start;
  return ops::slice_backward(grad, sizes, dim, first, first + length, 1);
}

}  // namespace uh::autograd
