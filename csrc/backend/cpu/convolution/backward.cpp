// convolution_backward: the input's gradient is a convolution of the opposite kind (transposed or
// not), the weight's a sum over all pixels (weight_gradient.cpp), the bias's each channel's sum.
#include "backend/cpu/convolution/complex_parts.h"
#include "backend/cpu/convolution/convolve.h"
#include "generated/kernels/convolution.h"
#include "generated/ops/reduce.h"

namespace uh::kernels {
namespace {

// Calls f(to, x, y) for float32 and float64 tensors; composes other dtypes from these.
template <class F>
void in_real(const Tensor& out, const Tensor& x, const Tensor& y, const F& f) {
  if (!out || out.numel() == 0) return;
  if (is_complex(x.dtype())) {
    const auto product = [&](int i, int j) {
      const Tensor result = empty(out.sizes(), to_real(x.dtype()));
      f(result, part_of(x, i), part_of(y, j));
      return result;
    };
    join_parts(out, product(0, 0), product(1, 1), product(0, 1), product(1, 0));
  } else if (x.dtype() == DType::kFloat32 || x.dtype() == DType::kFloat64) {
    f(out, x, y);
  } else {
    const Tensor wide = empty(out.sizes(), DType::kFloat32);
    f(wide, as_contiguous(x, DType::kFloat32), as_contiguous(y, DType::kFloat32));
    copy_elements(out, wide);
  }
}

Tensor sum_of_channels(const Tensor& grad) {
  Dims dims{0};
  for (int64_t d = 2; d < grad.ndim(); ++d) dims.push_back(d);
  return ops::sum(grad, dims, false, DType::kUndefined);
}

}  // namespace

void convolution_backward(const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                          const Dims& stride, const Dims& padding, const Dims& dilation,
                          bool transposed, const Dims&, int64_t groups, const Dims&,
                          const Tensor& grad_input, const Tensor& grad_weight,
                          const Tensor& grad_bias) {
  ConvolutionOptions options =
      make_options(weight.ndim() - 2, stride, padding, dilation, !transposed, groups);
  in_real(grad_input, grad_output, weight,
          [&](const Tensor& out, const Tensor& grad, const Tensor& w) {
            convolve(out, grad, w, Tensor(), options);
          });
  options.transposed = transposed;
  in_real(grad_weight, transposed ? input : grad_output, transposed ? grad_output : input,
          [&](const Tensor& out, const Tensor& rows, const Tensor& columns) {
            convolve_weight(out, rows, columns, options);
          });
  if (grad_bias) copy_elements(grad_bias, sum_of_channels(grad_output));
}

}  // namespace uh::kernels
