#include "ops/pooling/windows.h"

namespace uh {
namespace {

// Repeats a single value for every dimension; an empty list becomes `otherwise`.
Dims expanded(const Dims& values, int64_t dims, std::string_view op, std::string_view name,
              const Dims* otherwise = nullptr) {
  if (values.empty() && otherwise) return *otherwise;
  check(values.size() == 1 || values.ndim() == dims, op, ": ", name,
        " must either be a single int, or a tuple of ", dims, " ints, got ", values);
  for (const int64_t v : values)
    check(v >= INT32_MIN && v <= INT32_MAX, op, ": ", name, " does not fit 32 bits: ", values);
  if (values.size() == 1) return Dims(static_cast<size_t>(dims), values[0]);
  return values;
}

int64_t windows_along(const Window& w, bool ceil_mode) {
  const int64_t span = w.in + 2 * w.padding - w.dilation * (w.kernel - 1) - 1;
  const int64_t rounded = span + (ceil_mode ? w.stride - 1 : 0);
  int64_t n = rounded / w.stride - (rounded % w.stride < 0 ? 1 : 0) + 1;
  // The last window must start inside the input or the padding before it.
  if (ceil_mode && (n - 1) * w.stride >= w.in + w.padding) --n;
  return n;
}

}  // namespace

Windows make_windows(const Tensor& self, int64_t dims, const PoolArguments& a,
                     std::string_view op) {
  const Dims kernel = expanded(a.kernel_size, dims, op, "kernel_size");
  const Dims stride = expanded(a.stride, dims, op, "stride", &kernel);
  const Dims padding = expanded(a.padding, dims, op, "padding");
  const Dims dilation = expanded(a.dilation, dims, op, "dilation");
  bool sized = self.ndim() == dims + 1 || self.ndim() == dims + 2;
  for (int64_t d = self.ndim() == dims + 2 ? 1 : 0; sized && d < self.ndim(); ++d)
    sized = self.size(d) != 0;
  check(sized, op, ": expected ", dims + 1, "D or ", dims + 2,
        "D (batch mode) tensor with optional 0 dim batch size for input, but got: ", self.sizes());
  Windows w;
  w.sizes = self.sizes();
  for (int64_t i = 0; i < dims; ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t d = self.ndim() - dims + i;
    Window& axis = w.axes[static_cast<size_t>(3 - dims + i)];
    axis = {self.size(d), 0, kernel[at], stride[at], padding[at], dilation[at]};
    check(axis.stride > 0, op, ": stride should be greater than zero, got ", stride);
    check(axis.kernel > 0, op, ": kernel size should be greater than zero, got ", kernel);
    check(axis.dilation > 0, op, ": dilation should be greater than zero, got ", dilation);
    check(axis.padding >= 0, op, ": padding must be non-negative, got ", padding);
    check(axis.padding <= (axis.dilation * (axis.kernel - 1) + 1) / 2, op,
          ": padding should be at most half of effective kernel size, but got padding=", padding,
          ", kernel_size=", kernel, " and dilation=", dilation);
    check(axis.in <= INT64_MAX / 4, op, ": sizes overflow 64 bits: ", self.sizes());
    axis.out = windows_along(axis, a.ceil_mode);
    check(axis.out >= 1, op, ": given input size ", self.sizes(), ", calculated output size ",
          axis.out, " at dimension ", d, " is too small");
    w.sizes[static_cast<size_t>(d)] = axis.out;
  }
  for (int64_t d = 0; d < self.ndim() - dims; ++d) w.planes *= self.size(d);
  return w;
}

Windows adaptive_windows_between(const Dims& in, const Dims& out, int64_t dims) {
  Windows w;
  w.sizes = out;
  const int64_t lead = in.ndim() - dims;
  for (int64_t i = 0; i < dims; ++i) {
    const auto d = static_cast<size_t>(lead + i);
    w.axes[static_cast<size_t>(3 - dims + i)] = {.in = in[d], .out = out[d], .stride = INT32_MAX};
  }
  for (int64_t d = 0; d < lead; ++d) w.planes *= in[static_cast<size_t>(d)];
  return w;
}

Windows windows_between(const Dims& in, const Dims& out, int64_t dims, const PoolArguments& a) {
  Windows w = adaptive_windows_between(in, out, dims);
  const auto at = [](const Dims& values, int64_t i) {
    return values[values.size() == 1 ? 0 : static_cast<size_t>(i)];
  };
  for (int64_t i = 0; i < dims; ++i) {
    Window& axis = w.axes[static_cast<size_t>(3 - dims + i)];
    axis.kernel = at(a.kernel_size, i);
    axis.stride = at(a.stride.empty() ? a.kernel_size : a.stride, i);
    axis.padding = at(a.padding, i);
    axis.dilation = at(a.dilation, i);
  }
  return w;
}

DType pool_dtype(DType dtype) {
  if (dtype == DType::kFloat64) return dtype;
  return is_floating(dtype) ? DType::kFloat32 : DType::kInt64;
}

}  // namespace uh
