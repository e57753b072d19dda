// convolution: chooses the dtype in which convolve.h computes.
#include "generated/kernels/convolution.h"
#include "backend/cpu/convolution/complex_parts.h"
#include "backend/cpu/convolution/convolve.h"
#include "backend/cpu/copy/elements.h"

namespace uh::kernels {
namespace {

// (a + ib) * (c + id): four real convolutions.
void convolve_complex(const Tensor& out, const Tensor& input, const Tensor& weight,
                      const Tensor& bias, const ConvolutionOptions& options) {
  const Tensor x[2] = {part_of(input, 0), part_of(input, 1)};
  const Tensor w[2] = {part_of(weight, 0), part_of(weight, 1)};
  const auto product = [&](int i, int j, const Tensor& b) {
    Tensor result = empty(out.sizes(), to_real(out.dtype()));
    convolve(result, x[i], w[j], b, options);
    return result;
  };
  const Tensor rr = product(0, 0, part_of(bias, 0)), ii = product(1, 1, Tensor());
  const Tensor ri = product(0, 1, part_of(bias, 1)), ir = product(1, 0, Tensor());
  join_parts(out, rr, ii, ri, ir);
}

}  // namespace

void convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, const Dims& stride,
                 const Dims& padding, const Dims& dilation, bool transposed, const Dims&,
                 int64_t groups, const Tensor& result) {
  if (result.numel() == 0) return;
  const ConvolutionOptions options =
      make_options(weight.ndim() - 2, stride, padding, dilation, transposed, groups);
  const DType t = result.dtype();
  if (is_complex(t)) {
    convolve_complex(result, input, weight, bias, options);
  } else if (t == DType::kFloat32 || t == DType::kFloat64 || t == DType::kInt64) {
    convolve(result, input, weight, bias, options);
  } else {
    const Tensor wide = empty(result.sizes(), is_floating(t) ? DType::kFloat32 : DType::kInt64);
    convolve(wide, input, weight, bias, options);
    copy_elements(result, wide);
  }
}

}  // namespace uh::kernels
