// Pooling on an OpenCL device.
#include "generated/structured/pooling.h"
#include "backend/opencl/copy.h"
#include "backend/opencl/kernel_calls.h"
#include "backend/opencl/registration.h"
#include "ops/pooling/windows.h"

namespace uh::opencl {
namespace {

// The struct that pooling.cl declares.
struct KernelWindows {
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];

  explicit KernelWindows(const Windows& w) {
    for (size_t a = 0; a < 3; ++a) {
      in[a] = w.axes[a].in;
      out[a] = w.axes[a].out;
      kernel[a] = w.axes[a].kernel;
      stride[a] = w.axes[a].stride;
      padding[a] = w.axes[a].padding;
      dilation[a] = w.axes[a].dilation;
    }
  }
};

Defines defines(DType dtype, bool adaptive) {
  Defines lines = computes(dtype);
  lines.text("LOWEST", "-INFINITY");
  if (adaptive) lines.text("ADAPTIVE", "1");
  return lines;
}

// `indices` is undefined if only the values are requested.
void max_windows(const Tensor& self, const Windows& w, bool adaptive, const Tensor& values,
                 const Tensor& indices) {
  if (values.numel() == 0) return;
  static const Source source{sources::pooling, "max_pool"};
  const DenseResult out(values), positions(indices ? indices : values);
  const Kernel& kernel = source.kernel(self.device(), defines(self.dtype(), adaptive));
  launch_items(kernel, values.numel(), contiguous(self), out.tensor(), positions.tensor(),
               KernelWindows(w), int32_t{static_cast<bool>(indices)});
  out.store();
  if (indices) positions.store();
}

void averages(const Tensor& self, const Windows& w, bool adaptive, bool counts_padding,
              int64_t divisor, const Tensor& result) {
  if (result.numel() == 0) return;
  static const Source source{sources::pooling, "avg_pool"};
  const DenseResult out(result);
  const Kernel& kernel = source.kernel(self.device(), defines(self.dtype(), adaptive));
  launch_items(kernel, result.numel(), contiguous(self), out.tensor(), KernelWindows(w),
               int32_t{counts_padding}, divisor);
  out.store();
}

void averages_backward(const Tensor& grad, const Windows& w, bool adaptive, bool counts_padding,
                       int64_t divisor, const Tensor& result) {
  if (result.numel() == 0) return;
  static const Source source{sources::pooling, "avg_pool_backward"};
  const Kernel& kernel = source.kernel(grad.device(), defines(grad.dtype(), adaptive));
  launch_items(kernel, result.numel(), contiguous(grad), result, KernelWindows(w),
               int32_t{counts_padding}, divisor);
}

const Dims kNoDilation{1};

template <int64_t dims>
void max_pool(const Tensor& self, const Dims& kernel_size, const Dims& stride, const Dims& padding,
              const Dims& dilation, bool ceil_mode, const Tensor& result) {
  const PoolArguments arguments{kernel_size, stride, padding, dilation, ceil_mode};
  max_windows(self, windows_between(self.sizes(), result.sizes(), dims, arguments), false, result,
              Tensor());
}

template <int64_t dims>
void max_pool_with_indices(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                           const Dims& padding, const Dims& dilation, bool ceil_mode,
                           const Tensor& values, const Tensor& indices) {
  const PoolArguments arguments{kernel_size, stride, padding, dilation, ceil_mode};
  max_windows(self, windows_between(self.sizes(), values.sizes(), dims, arguments), false, values,
              indices);
}

template <int64_t dims>
void avg_pool(const Tensor& self, const Dims& kernel_size, const Dims& stride, const Dims& padding,
              bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor,
              const Tensor& result) {
  const PoolArguments arguments{kernel_size, stride, padding, kNoDilation, ceil_mode};
  averages(self, windows_between(self.sizes(), result.sizes(), dims, arguments), false,
           count_include_pad, divisor.value_or(0), result);
}

void avg_pool1d(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                const Dims& padding, bool ceil_mode, bool count_include_pad, const Tensor& result) {
  avg_pool<1>(self, kernel_size, stride, padding, ceil_mode, count_include_pad, {}, result);
}

template <int64_t dims>
void avg_pool_backward(const Tensor& grad, const Dims&, const Dims& kernel_size, const Dims& stride,
                       const Dims& padding, bool ceil_mode, bool count_include_pad,
                       std::optional<int64_t> divisor, const Tensor& result) {
  const PoolArguments arguments{kernel_size, stride, padding, kNoDilation, ceil_mode};
  averages_backward(grad, windows_between(result.sizes(), grad.sizes(), dims, arguments), false,
                    count_include_pad, divisor.value_or(0), result);
}

template <int64_t dims>
void adaptive_avg_pool(const Tensor& self, const Dims&, const Tensor& result) {
  averages(self, adaptive_windows_between(self.sizes(), result.sizes(), dims), true, true, 0,
           result);
}

template <int64_t dims>
void adaptive_max_pool(const Tensor& self, const Dims&, const Tensor& values,
                       const Tensor& indices) {
  max_windows(self, adaptive_windows_between(self.sizes(), values.sizes(), dims), true, values,
              indices);
}

void adaptive_avg_pool_backward(const Tensor& grad, const Dims& input_sizes, int64_t dims,
                                const Tensor& result) {
  averages_backward(grad, adaptive_windows_between(input_sizes, grad.sizes(), dims), true, true, 0,
                    result);
}

int64_t plane_of(const Dims& sizes, int64_t dims) {
  int64_t n = 1;
  for (int64_t d = sizes.ndim() - dims; d < sizes.ndim(); ++d) n *= sizes[static_cast<size_t>(d)];
  return n;
}

void max_pool_backward(const Tensor& grad, const Tensor& indices, const Dims& input_sizes,
                       int64_t dims, const Tensor& result) {
  if (result.numel() == 0) return;
  static const Source source{sources::pooling, "max_pool_backward"};
  const DType compute = is_reduced_floating(result.dtype()) ? DType::kFloat32 : result.dtype();
  const Tensor sums =
      compute == result.dtype() ? result : empty(result.sizes(), compute, result.device());
  const int64_t plane = plane_of(input_sizes, dims);
  const Kernel& kernel = source.kernel(grad.device(), defines(grad.dtype(), false));
  launch_items(kernel, result.numel() / plane, contiguous(grad), contiguous(indices), sums,
               plane_of(grad.sizes(), dims), plane);
  if (!sums.is_same(result)) copy_elements(result, sums);
}

}  // namespace

void register_pooling() {
  namespace s = structured;
#define UH_POOLS(rank)                                                                             \
  register_partial<ops::max_pool##rank##d_op, kFloatingFirst,                                      \
                   s::max_pool##rank##d<max_pool<rank>>>("opencl max_pool");                       \
  register_partial<ops::max_pool##rank##d_with_indices_op, kFloatingFirst,                         \
                   s::max_pool##rank##d_with_indices<max_pool_with_indices<rank>>>(                \
      "opencl max_pool");                                                                          \
  register_partial<ops::adaptive_avg_pool##rank##d_op, kFloatingFirst,                             \
                   s::adaptive_avg_pool##rank##d<adaptive_avg_pool<rank>>>(                        \
      "opencl adaptive_avg_pool");                                                                 \
  register_partial<ops::adaptive_max_pool##rank##d_op, kFloatingFirst,                             \
                   s::adaptive_max_pool##rank##d<adaptive_max_pool<rank>>>(                        \
      "opencl adaptive_max_pool");
  UH_POOLS(1)
  UH_POOLS(2)
  UH_POOLS(3)
#undef UH_POOLS
  register_partial<ops::avg_pool1d_op, kFloatingFirst, s::avg_pool1d<avg_pool1d>>(
      "opencl avg_pool1d");
  register_partial<ops::avg_pool2d_op, kFloatingFirst, s::avg_pool2d<avg_pool<2>>>(
      "opencl avg_pool2d");
  register_partial<ops::avg_pool3d_op, kFloatingFirst, s::avg_pool3d<avg_pool<3>>>(
      "opencl avg_pool3d");
  register_partial<ops::_max_pool_backward_op, kFloatingFirst,
                   s::_max_pool_backward<max_pool_backward>>("opencl _max_pool_backward");
  register_partial<ops::avg_pool2d_backward_op, kFloatingFirst,
                   s::avg_pool2d_backward<avg_pool_backward<2>>>("opencl avg_pool2d_backward");
  register_partial<ops::avg_pool3d_backward_op, kFloatingFirst,
                   s::avg_pool3d_backward<avg_pool_backward<3>>>("opencl avg_pool3d_backward");
  register_partial<ops::_adaptive_avg_pool_backward_op, kFloatingFirst,
                   s::_adaptive_avg_pool_backward<adaptive_avg_pool_backward>>(
      "opencl _adaptive_avg_pool_backward");
}

}  // namespace uh::opencl
