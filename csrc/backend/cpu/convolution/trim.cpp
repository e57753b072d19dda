#include "backend/cpu/convolution/trim.h"

#include "ops/convolution/axis.h"

namespace uh {
namespace {

struct Axis {
  int64_t small,
      large;  // sizes: small s pairs with large s * stride + tap * dilation - padding
  int64_t kernel, stride, padding, dilation;

  bool meets(int64_t tap) const {
    const int64_t shift = tap * dilation - padding;
    const int64_t first = shift >= 0 ? 0 : ceil_div(-shift, stride);
    return first < small && first * stride + shift < large;
  }
};

}  // namespace

TrimmedKernel trim(const Tensor& weight, const Tensor& in, const Tensor& out,
                   const ConvolutionOptions& options) {
  TrimmedKernel result{weight, options};
  const Tensor &large = options.transposed ? out : in, &small = options.transposed ? in : out;
  Dims sizes = weight.sizes();
  int64_t offset = weight.offset();
  for (int64_t d = 2; d < weight.ndim(); ++d) {
    const size_t a = kConvDims - static_cast<size_t>(weight.ndim() - d);
    const Axis axis{small.size(d),     large.size(d),      weight.size(d),
                    options.stride[a], options.padding[a], options.dilation[a]};
    int64_t first = 0, end = axis.kernel;
    // The loops require a non-negative padding.
    while (first < end && !axis.meets(first) && (first + 1) * axis.dilation <= axis.padding)
      ++first;
    while (end > first && !axis.meets(end - 1)) --end;
    if (first == end) return {weight, options};
    result.options.padding[a] -= first * axis.dilation;
    offset += first * weight.stride(d);
    sizes[static_cast<size_t>(d)] = end - first;
  }
  if (sizes != weight.sizes()) result.weight = alias(weight, {sizes, weight.strides(), offset});
  return result;
}

}  // namespace uh
