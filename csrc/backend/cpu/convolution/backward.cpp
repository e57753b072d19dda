// convolution_backward: the gradient of the input is a convolution the other way round, that of the
// weight a sum over all pixels (weight_gradient.cpp), that of the bias the sum of each channel.
#include "backend/cpu/convolution/complex_parts.h"
#include "backend/cpu/convolution/convolve.h"
#include "generated/kernels/convolution.h"
#include "generated/ops/reduce.h"
#include "ops/operand_checks.h"

namespace uh::kernels {
namespace {

// f(to, x, y) for float32 and float64 tensors; other dtypes are composed of these.
template <class F>
Tensor in_real(const Dims& sizes, const Tensor& x, const Tensor& y, const F& f) {
  Tensor out = empty(sizes, x.dtype(), x.device());
  if (out.is_meta() || out.numel() == 0) return out;
  if (is_complex(x.dtype())) {
    const auto product = [&](int i, int j) {
      const Tensor result = empty(sizes, to_real(x.dtype()));
      f(result, part_of(x, i), part_of(y, j));
      return result;
    };
    join_parts(out, product(0, 0), product(1, 1), product(0, 1), product(1, 0));
  } else if (x.dtype() == DType::kFloat32 || x.dtype() == DType::kFloat64) {
    f(out, x, y);
  } else {
    const Tensor wide = empty(sizes, DType::kFloat32);
    f(wide, as_contiguous(x, DType::kFloat32), as_contiguous(y, DType::kFloat32));
    copy_elements(out, wide);
  }
  record_write(out);
  return out;
}

// One number stands for all dimensions, as in `convolution`.
Dims expanded(const Dims& values, int64_t dims) {
  check(values.size() == 1 || values.ndim() == dims,
        "convolution_backward: stride, padding and dilation need 1 or ", dims, " numbers, got ",
        values);
  return values.size() == 1 ? Dims(static_cast<size_t>(dims), values[0]) : values;
}

Tensor sum_of_channels(const Tensor& grad) {
  Dims dims{0};
  for (int64_t d = 2; d < grad.ndim(); ++d) dims.push_back(d);
  return ops::sum(grad, dims, false, DType::kUndefined);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> convolution_backward(KeySet, const Tensor& grad_output,
                                                        const Tensor& input, const Tensor& weight,
                                                        const Dims& stride, const Dims& padding,
                                                        const Dims& dilation, bool transposed,
                                                        const Dims& output_padding, int64_t groups,
                                                        const Dims& output_mask) {
  check(output_mask.size() == 3, "convolution_backward: output_mask needs 3 elements, got ",
        output_mask);
  check(is_inexact(grad_output.dtype()),
        "convolution_backward: expected floating or complex "
        "numbers, got ",
        name(grad_output.dtype()));
  check(grad_output.ndim() == weight.ndim() && input.ndim() == weight.ndim() &&
            grad_output.size(0) == input.size(0) &&
            grad_output.size(1) == (transposed ? weight.size(1) * groups : weight.size(0)),
        "convolution_backward: grad_output of sizes ", grad_output.sizes(), " and input of sizes ",
        input.sizes(), " do not fit weight of sizes ", weight.sizes());
  const auto shape_of = [](const Tensor& t) { return empty(t.sizes(), t.dtype(), Device::kMeta); };
  check_together("convolution_backward", input, {&weight, &grad_output});
  const Tensor expected =
      convolution(KeySet(Key::kMeta), shape_of(input), shape_of(weight), Tensor(), stride, padding,
                  dilation, transposed, output_padding, groups);
  check(expected.sizes() == grad_output.sizes(), "convolution_backward: grad_output of sizes ",
        grad_output.sizes(), ", but the convolution makes ", expected.sizes());
  const int64_t dims = weight.ndim() - 2;
  ConvolutionOptions options = make_options(expanded(stride, dims), expanded(padding, dims),
                                            expanded(dilation, dims), !transposed, groups);
  Tensor grad_input, grad_weight, grad_bias;
  if (output_mask[0]) {
    grad_input = in_real(input.sizes(), grad_output, weight,
                         [&](const Tensor& out, const Tensor& grad, const Tensor& w) {
                           convolve(out, grad, w, Tensor(), options);
                         });
  }
  if (output_mask[1]) {
    options.transposed = transposed;
    grad_weight =
        in_real(weight.sizes(), transposed ? input : grad_output, transposed ? grad_output : input,
                [&](const Tensor& out, const Tensor& rows, const Tensor& columns) {
                  convolve_weight(out, rows, columns, options);
                });
  }
  if (output_mask[2]) grad_bias = sum_of_channels(grad_output);
  return {grad_input, grad_weight, grad_bias};
}

}  // namespace uh::kernels
