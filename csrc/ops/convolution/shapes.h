// Shape rules of convolution.yaml, and the checked arguments that kernels take.
#pragma once

#include <array>
#include <tuple>

#include "tensor/tensor.h"

namespace uh {

inline constexpr size_t kConvDims = 3;
using Spatial = std::array<int64_t, kConvDims>;  // depth, height, width; unused ones come first

struct ConvolutionOptions {
  Spatial stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};
  bool transposed = false;
  int64_t groups = 1;
};

// Converts arguments that a shape rule has checked, for `dims` spatial dimensions. A single value
// applies to all of them.
inline ConvolutionOptions make_options(int64_t dims, const Dims& stride, const Dims& padding,
                                       const Dims& dilation, bool transposed, int64_t groups) {
  ConvolutionOptions options{.transposed = transposed, .groups = groups};
  const auto n = static_cast<size_t>(dims);
  const auto at = [](const Dims& values, size_t i) { return values[values.size() == 1 ? 0 : i]; };
  for (size_t i = 0; i < n; ++i) {
    options.stride[kConvDims - n + i] = at(stride, i);
    options.padding[kConvDims - n + i] = at(padding, i);
    options.dilation[kConvDims - n + i] = at(dilation, i);
  }
  return options;
}

}  // namespace uh

namespace uh::shapes {

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const Dims& stride, const Dims& padding, const Dims& dilation, bool transposed,
                   const Dims& output_padding, int64_t groups);

// Leaves the gradients that the mask excludes undefined.
std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad_output, const Tensor& input, const Tensor& weight, const Dims& stride,
    const Dims& padding, const Dims& dilation, bool transposed, const Dims& output_padding,
    int64_t groups, const Dims& output_mask);

}  // namespace uh::shapes
