#include "autograd/formulas/view_backward.h"

#include "generated/ops/comparison.h"
#include "generated/ops/creation.h"
#include "generated/ops/gather.h"
#include "generated/ops/index_write.h"
#include "generated/ops/view.h"

namespace uh::autograd {

Tensor as_strided_twice(const Tensor& grad, const Dims& input_sizes, const Dims& input_strides,
                        int64_t input_offset, const Dims& size, const Dims& stride,
                        int64_t offset) {
  const int64_t base = std::min(input_offset, offset);
  const auto end = [&](const Dims& sizes, const Dims& strides, int64_t from) {
    int64_t last = from - base;
    for (size_t d = 0; d < sizes.size(); ++d)
      last += std::max<int64_t>(sizes[d] - 1, 0) * strides[d];
    return last + 1;
  };
  const int64_t room =
      std::max(end(input_sizes, input_strides, input_offset), end(size, stride, offset));
  const Tensor all = ops::arange(Scalar(0), Scalar(room), Scalar(1), DType::kInt64, grad.device());
  const auto addresses = [&](const Dims& sizes, const Dims& strides, int64_t from) {
    return ops::reshape(ops::as_strided(all, sizes, strides, from - base), Dims{numel_of(sizes)});
  };
  const Tensor positions = addresses(input_sizes, input_strides, input_offset);
  const Tensor none = ops::zeros(Dims{room}, grad.dtype(), grad.device());
  const Tensor one = ops::ones(Dims{positions.numel()}, grad.dtype(), grad.device());
  // Elements of the input at one address share its gradient equally.
  const Tensor sharers = ops::index_add(none, 0, positions, one);
  const Tensor sums =
      ops::index_add(none, 0, positions, ops::reshape(grad, Dims{positions.numel()}));
  const Tensor each = sums / ops::where(ops::eq(sharers, Scalar(0)), Scalar(1), sharers);
  return ops::reshape(ops::index_select(each, 0, addresses(size, stride, offset)), size);
}

}  // namespace uh::autograd
