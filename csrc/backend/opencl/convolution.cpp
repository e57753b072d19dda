// Convolutions on an OpenCL device, as matrix products of columns: convolution.cl.
//
// Forward, out = weight x columns(input). A transposed convolution is the gradient of one that is
// not: its columns are a product, and col2im adds them up. The batch is split to keep the columns
// small.
#include <algorithm>

#include "backend/opencl/copy.h"
#include "backend/opencl/kernel_calls.h"
#include "backend/opencl/registration.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/linalg.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"
#include "generated/structured/convolution.h"

namespace uh::opencl {
namespace {

// The maximum size of the columns of a part of the batch, in bytes.
constexpr int64_t kColumnBytes = int64_t{64} << 20;

// The struct that convolution.cl declares. Columns are filled from the image `in`, one for each
// pixel of `out`. For a transposed convolution, `in` is its output and `out` its input.
struct KernelShape {
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
  int64_t channels, samples;
};

class Columns {
 public:
  Columns(const Tensor& image, const Tensor& pixels, const Tensor& weight,
          const ConvolutionOptions& options)
      : options_(options), dtype_(image.dtype()), device_(image.device()) {
    const int64_t dims = weight.ndim() - 2;
    for (size_t a = 0; a < kConvDims; ++a) {
      const auto d = static_cast<int64_t>(a) + dims - static_cast<int64_t>(kConvDims) + 2;
      const bool used = d >= 2;
      shape_.in[a] = used ? image.size(d) : 1;
      shape_.out[a] = used ? pixels.size(d) : 1;
      shape_.kernel[a] = used ? weight.size(d) : 1;
      shape_.stride[a] = options.stride[a];
      shape_.padding[a] = options.padding[a];
      shape_.dilation[a] = options.dilation[a];
    }
    shape_.channels = image.size(1);
    rows_ = shape_.channels * shape_.kernel[0] * shape_.kernel[1] * shape_.kernel[2];
    pixels_ = shape_.out[0] * shape_.out[1] * shape_.out[2];
    samples_ = image.size(0);
    const int64_t bytes = std::max<int64_t>(1, rows_ * pixels_ * itemsize(dtype_));
    part_ = std::clamp<int64_t>(kColumnBytes / bytes, 1, std::max<int64_t>(1, samples_));
  }

  int64_t pixels() const { return pixels_; }
  int64_t groups() const { return options_.groups; }

  // Calls f(first sample, number of samples) for each part of the batch.
  template <class F>
  void for_parts(const F& f) const {
    for (int64_t first = 0; first < samples_; first += part_)
      f(first, std::min(part_, samples_ - first));
  }

  // (groups, rows of a group, samples * pixels) of an image.
  Tensor of_image(const Tensor& image) const {
    static const Source source{sources::convolution, "im2col"};
    const int64_t n = image.size(0);
    const Tensor columns = empty(Dims{groups(), rows_ / groups(), n * pixels_}, dtype_, device_);
    launch_items(source.kernel(device_, computes(dtype_)), columns.numel(), image, columns,
                 shape_of(n));
    return columns;
  }

  // Adds up columns to an image, with a bias per channel if there is one.
  void add_up(const Tensor& columns, const Tensor& bias, const Tensor& image) const {
    static const Source source{sources::convolution, "col2im"};
    launch_items(source.kernel(device_, computes(dtype_)), image.numel(), columns, image,
                 bias ? bias : image, int32_t{static_cast<bool>(bias)}, shape_of(image.size(0)));
  }

 private:
  KernelShape shape_of(int64_t samples) const {
    KernelShape shape = shape_;
    shape.samples = samples;
    return shape;
  }

  const ConvolutionOptions options_;
  const DType dtype_;
  const Device device_;
  KernelShape shape_{};
  int64_t rows_ = 0, pixels_ = 0, samples_ = 0, part_ = 1;
};

Tensor samples_of(const Tensor& t, int64_t first, int64_t count) {
  return count == t.size(0) ? t : ops::narrow(t, 0, first, count);
}

// (samples, channels, pixels) as (groups, channels of a group, samples * pixels).
Tensor by_channel(const Tensor& t, int64_t groups, int64_t pixels) {
  const int64_t n = t.size(0), channels = t.size(1);
  const Tensor moved = ops::transpose(ops::view(t, {n, channels, pixels}), 0, 1);
  return ops::view(contiguous(moved), {groups, channels / groups, n * pixels});
}

// The reverse, into `out`, with a bias per channel if there is one.
void store_by_sample(const Tensor& product, const Tensor& bias, const Tensor& out, int64_t pixels) {
  static const Source source{sources::convolution, "by_sample"};
  launch_items(source.kernel(out.device(), computes(out.dtype())), out.numel(), product, out,
               bias ? bias : out, int32_t{static_cast<bool>(bias)}, out.size(1), out.size(0),
               pixels);
}

// (groups, rows, columns) of a weight: its first dimension is split into groups.
Tensor in_groups(const Tensor& weight, int64_t groups) {
  return ops::view(contiguous(weight), {groups, weight.size(0) / groups, -1});
}

// out = weight x columns(image): a convolution, or the gradient of a transposed convolution.
void multiply(const Tensor& image, const Tensor& weight, const Tensor& bias,
              const ConvolutionOptions& options, const Tensor& out) {
  const Tensor x = contiguous(image), w = in_groups(weight, options.groups);
  const Columns columns(x, out, weight, options);
  columns.for_parts([&](int64_t first, int64_t count) {
    const Tensor product = ops::bmm(w, columns.of_image(samples_of(x, first, count)));
    store_by_sample(product, bias, samples_of(out, first, count), columns.pixels());
  });
}

// out = sum of the columns weight^T x pixels: a transposed convolution, or the gradient of a
// convolution.
void multiply_back(const Tensor& pixels, const Tensor& weight, const Tensor& bias,
                   const ConvolutionOptions& options, const Tensor& out) {
  const Tensor p = contiguous(pixels);
  const Tensor w = ops::transpose(in_groups(weight, options.groups), 1, 2);
  const Columns columns(out, p, weight, options);
  columns.for_parts([&](int64_t first, int64_t count) {
    const Tensor rows = by_channel(samples_of(p, first, count), options.groups, columns.pixels());
    columns.add_up(ops::bmm(w, rows), bias, samples_of(out, first, count));
  });
}

// The weight's gradient: the product of the pixels and the columns of the image.
void weight_gradient(const Tensor& image, const Tensor& pixels, const ConvolutionOptions& options,
                     const Tensor& out) {
  const Tensor x = contiguous(image), p = contiguous(pixels);
  const Columns columns(x, p, out, options);
  Tensor sum;
  columns.for_parts([&](int64_t first, int64_t count) {
    const Tensor rows = by_channel(samples_of(p, first, count), options.groups, columns.pixels());
    const Tensor matrix = columns.of_image(samples_of(x, first, count));
    const Tensor product = ops::bmm(rows, ops::transpose(matrix, 1, 2));
    sum = sum ? ops::add(sum, product, Scalar(1)) : product;
  });
  copy_elements(out, ops::view(sum, out.sizes()));
}

void convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, const Dims& stride,
                 const Dims& padding, const Dims& dilation, bool transposed, const Dims&,
                 int64_t groups, const Tensor& result) {
  if (result.numel() == 0) return;
  const ConvolutionOptions options =
      make_options(weight.ndim() - 2, stride, padding, dilation, transposed, groups);
  const Tensor own_bias = bias ? contiguous(bias) : bias;
  if (input.numel() == 0 || weight.numel() == 0) {  // there are no channels
    fill({}, result, Scalar(0));
    if (bias) {
      Dims sizes(static_cast<size_t>(result.ndim()), 1);
      sizes[1] = result.size(1);
      copy_elements(result, ops::view(own_bias, sizes));
    }
    return;
  }
  transposed ? multiply_back(input, weight, own_bias, options, result)
             : multiply(input, weight, own_bias, options, result);
}

void convolution_backward(const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                          const Dims& stride, const Dims& padding, const Dims& dilation,
                          bool transposed, const Dims&, int64_t groups, const Dims&,
                          const Tensor& grad_input, const Tensor& grad_weight,
                          const Tensor& grad_bias) {
  const ConvolutionOptions options =
      make_options(weight.ndim() - 2, stride, padding, dilation, transposed, groups);
  const bool is_empty = grad_output.numel() == 0 || input.numel() == 0 || weight.numel() == 0;
  for (const Tensor& result : {grad_input, grad_weight})
    if (is_empty && result && result.numel()) fill({}, result, Scalar(0));
  if (grad_input && !is_empty)
    transposed ? multiply(grad_output, weight, Tensor(), options, grad_input)
               : multiply_back(grad_output, weight, Tensor(), options, grad_input);
  if (grad_weight && !is_empty)
    transposed ? weight_gradient(grad_output, input, options, grad_weight)
               : weight_gradient(input, grad_output, options, grad_weight);
  if (!grad_bias) return;
  Dims dims{0};
  for (int64_t d = 2; d < grad_output.ndim(); ++d) dims.push_back(d);
  copy_elements(grad_bias, ops::sum(grad_output, dims, false, DType::kUndefined));
}

}  // namespace

void register_convolution() {
  register_partial<ops::convolution_op, kFloatingFirst, structured::convolution<convolution>>(
      "opencl convolution");
  register_partial<ops::convolution_backward_op, kFloatingFirst,
                   structured::convolution_backward<convolution_backward>>(
      "opencl convolution_backward");
}

}  // namespace uh::opencl
