// Shape rules of unfold.yaml, and the windows of an image.
#pragma once

#include <algorithm>
#include <string_view>

#include "tensor/tensor.h"

namespace uh {

// The height or the width of an image, and the windows along it.
struct UnfoldedSide {
  int64_t in, out, kernel, dilation, padding, stride;

  // Windows [first, last) have element k inside the image.
  int64_t first(int64_t k) const {
    const int64_t shift = padding - k * dilation;
    return shift <= 0 ? 0 : std::min((shift + stride - 1) / stride, out);
  }
  int64_t last(int64_t k) const {
    const int64_t room = in + padding - k * dilation;
    return room <= 0 ? first(k) : std::clamp((room - 1) / stride + 1, first(k), out);
  }
  int64_t input(int64_t o, int64_t k) const { return o * stride - padding + k * dilation; }
};

struct UnfoldedImage {
  UnfoldedSide y, x;
  int64_t batch, channels;

  int64_t plane() const { return y.in * x.in; }
  int64_t windows() const { return y.out * x.out; }
  int64_t rows() const { return channels * y.kernel * x.kernel; }
};

// Returns the windows of an image of sizes (batch, channels, height, width), or without a batch.
UnfoldedImage unfolded_image(const Dims& sizes, const Dims& kernel_size, const Dims& dilation,
                             const Dims& padding, const Dims& stride, std::string_view op);

}  // namespace uh

namespace uh::shapes {

Tensor im2col(const Tensor& self, const Dims& kernel_size, const Dims& dilation,
              const Dims& padding, const Dims& stride);
Tensor col2im(const Tensor& self, const Dims& output_size, const Dims& kernel_size,
              const Dims& dilation, const Dims& padding, const Dims& stride);

}  // namespace uh::shapes
