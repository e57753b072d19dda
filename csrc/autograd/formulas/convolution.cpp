#include "autograd/formulas/convolution.h"

#include "generated/ops/convolution.h"
#include "generated/ops/view.h"

namespace uh::autograd {

Tensor convolution_backward_output(const Gradients& grads, const TensorInfo& output,
                                   const Tensor& input, const Tensor& weight, const Dims& stride,
                                   const Dims& padding, const Dims& dilation, bool transposed,
                                   const Dims& output_padding, int64_t groups) {
  Tensor sum;
  const auto add = [&](const Tensor& x, const Tensor& w) {
    const Tensor result = ops::convolution(x, w, Tensor(), stride, padding, dilation, transposed,
                                           output_padding, groups);
    sum = sum ? sum + result : result;
  };
  if (grads[0]) add(grads[0], conj(weight));
  if (grads[1]) add(conj(input), grads[1]);
  if (!grads[2]) return sum;
  Dims channels(output.sizes().size() - 1, 1);
  channels[0] = output.size(1);
  const Tensor bias = ops::reshape(grads[2], channels);
  return sum ? sum + bias : ops::expand(bias, output.sizes(), false);
}

}  // namespace uh::autograd
