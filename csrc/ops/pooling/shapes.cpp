#include "ops/pooling/shapes.h"

#include <algorithm>

#include "ops/operand_checks.h"
#include "ops/pooling/windows.h"
#include "ops/suggested_format.h"

namespace uh::shapes {
namespace {

enum class Integers { kNone, kInt64, kAll };  // integer dtypes that a pooling accepts

void check_dtype(DType t, Integers integers, std::string_view op) {
  const bool is_known = is_floating(t) || (integers == Integers::kInt64 && t == DType::kInt64) ||
                        (integers == Integers::kAll && is_integral(t));
  check_kind(is_known, ErrorKind::kNotImplemented, "\"", op, "\" not implemented for '",
             info(t).title, "'");
}

Dims max_pooled_sizes(std::string_view op, const Tensor& self, int64_t dims,
                      const PoolArguments& arguments) {
  const Windows w = make_windows(self, dims, arguments, op);
  check_dtype(self.dtype(), dims > 1 ? Integers::kAll : Integers::kNone, op);
  return w.sizes;
}

// Returns the sizes of an adaptive pooling's result.
Dims adapted_sizes(const Tensor& self, int64_t dims, const Dims& requested, std::string_view op) {
  check(requested.size() == 1 || requested.ndim() == dims, op, ": output_size must be ", dims,
        " numbers or one, got ", requested);
  const Dims output_size =
      requested.size() == 1 ? Dims(static_cast<size_t>(dims), requested[0]) : requested;
  for (const int64_t size : output_size)
    check(size >= 0 && size <= INT32_MAX, op,
          ": elements of output_size must be greater than or equal to 0 but received ",
          output_size);
  check(self.ndim() == dims + 1 || self.ndim() == dims + 2, op, ": expected ", dims + 1, "D or ",
        dims + 2, "D tensor, but got ", self.sizes());
  Dims sizes = self.sizes();
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t d = self.ndim() - dims + i;
    check(self.size(d) > 0, op,
          ": expected input to have non-zero size for non-batch dimensions, but input has sizes ",
          self.sizes(), " with dimension ", d, " being empty");
    check(self.size(d) <= INT32_MAX, op, ": sizes above 2^31 are not supported, got ",
          self.sizes());
    sizes[static_cast<size_t>(d)] = output_size[static_cast<size_t>(i)];
  }
  return sizes;
}

// Returns whether gradient and input agree in all sizes but those of the last `dims` dimensions.
bool same_planes(const Dims& grad, const Dims& input, int64_t dims) {
  if (dims <= 0 || grad.size() != input.size() || dims > input.ndim()) return false;
  const auto lead = static_cast<std::ptrdiff_t>(input.ndim() - dims);
  return std::equal(grad.begin(), grad.begin() + lead, input.begin());
}

Tensor gradient_of(const Tensor& grad, const Dims& sizes, std::string_view op) {
  check_dtype(grad.dtype(), Integers::kNone, op);
  return empty(sizes, grad.dtype(), grad.device());
}

}  // namespace

Tensor max_pool(std::string_view op, const Tensor& self, int64_t dims, const Dims& kernel_size,
                const Dims& stride, const Dims& padding, const Dims& dilation, bool ceil_mode) {
  const Dims sizes =
      max_pooled_sizes(op, self, dims, {kernel_size, stride, padding, dilation, ceil_mode});
  return empty_in_format_of(self, sizes, self.dtype());
}

std::tuple<Tensor, Tensor> max_pool_with_indices(std::string_view op, const Tensor& self,
                                                 int64_t dims, const Dims& kernel_size,
                                                 const Dims& stride, const Dims& padding,
                                                 const Dims& dilation, bool ceil_mode) {
  const Dims sizes =
      max_pooled_sizes(op, self, dims, {kernel_size, stride, padding, dilation, ceil_mode});
  return {empty_in_format_of(self, sizes, self.dtype()),
          empty_in_format_of(self, sizes, DType::kInt64)};
}

Tensor avg_pool(std::string_view op, const Tensor& self, int64_t dims, const Dims& kernel_size,
                const Dims& stride, const Dims& padding, bool ceil_mode,
                std::optional<int64_t> divisor_override) {
  const Dims dilation{1};
  const Windows w =
      make_windows(self, dims, {kernel_size, stride, padding, dilation, ceil_mode}, op);
  check(divisor_override.value_or(1) != 0, op, ": divisor must be not zero");
  check_dtype(self.dtype(), Integers::kInt64, op);
  return empty_in_format_of(self, w.sizes, self.dtype());
}

Tensor adaptive_avg_pool(std::string_view op, const Tensor& self, int64_t dims,
                         const Dims& output_size) {
  const Dims sizes = adapted_sizes(self, dims, output_size, op);
  check_dtype(self.dtype(), Integers::kNone, op);
  return empty_in_format_of(self, sizes, self.dtype());
}

std::tuple<Tensor, Tensor> adaptive_max_pool(std::string_view op, const Tensor& self, int64_t dims,
                                             const Dims& output_size) {
  const Dims sizes = adapted_sizes(self, dims, output_size, op);
  for (int64_t d = self.ndim() == dims + 2 ? 1 : 0; d < self.ndim(); ++d)
    check(self.size(d) > 0, op,
          ": expected input to have non-zero size for non-batch dimensions, but input has sizes ",
          self.sizes());
  check_dtype(self.dtype(), Integers::kNone, op);
  return {empty_in_format_of(self, sizes, self.dtype()),
          empty_in_format_of(self, sizes, DType::kInt64)};
}

Tensor max_unpool(std::string_view op, const Tensor& self, const Tensor& indices, int64_t dims,
                  const Dims& output_size) {
  check(output_size.ndim() == dims, op, ": output_size must have ", dims, " elements, got ",
        output_size);
  for (const int64_t size : output_size)
    check(size >= 0, op, ": output_size must not be negative, got ", output_size);
  check(indices.dtype() == DType::kInt64, op, ": elements in indices should be int64, got ",
        name(indices.dtype()));
  check(self.ndim() == dims + 1 || self.ndim() == dims + 2, op, ": expected ", dims + 1, "D or ",
        dims + 2, "D input, got ", self.sizes());
  check(self.sizes() == indices.sizes(), op, ": expected shape of indices to be that of the input ",
        self.sizes(), ", but got ", indices.sizes());
  for (int64_t d = self.ndim() == dims + 2 ? 1 : 0; d < self.ndim(); ++d)
    check(self.size(d) > 0, op,
          ": expected input with non-zero size for non-batch dimensions, got ", self.sizes());
  check_dtype(self.dtype(), Integers::kAll, op);
  Dims sizes = self.sizes();
  for (int64_t i = 0; i < dims; ++i)
    sizes[static_cast<size_t>(self.ndim() - dims + i)] = output_size[static_cast<size_t>(i)];
  return empty_in_format_of(self, sizes, self.dtype());
}

Tensor max_unpool3d(const Tensor& self, const Tensor& indices, const Dims& output_size,
                    const Dims& stride, const Dims& padding) {
  check(stride.size() == 3 && padding.size() == 3,
        "max_unpool3d: stride and padding must have 3 elements, got ", stride, " and ", padding);
  for (const int64_t s : stride)
    check(s > 0, "max_unpool3d: strides should be greater than zero, got ", stride);
  return max_unpool("max_unpool3d", self, indices, 3, output_size);
}

Tensor max_pool_backward(const Tensor& grad_output, const Tensor& indices, const Dims& input_sizes,
                         int64_t dims) {
  const std::string_view op = "_max_pool_backward";
  check_together(op, grad_output, {&indices}, true);
  check(indices.dtype() == DType::kInt64, op, ": expected indices of dtype int64, got ",
        info(indices.dtype()).name);
  checked_numel(input_sizes, op);
  check(
      grad_output.sizes() == indices.sizes() && same_planes(grad_output.sizes(), input_sizes, dims),
      op, ": grad_output of sizes ", grad_output.sizes(), ", indices of ", indices.sizes(),
      " and an input of ", input_sizes, " do not belong together");
  return gradient_of(grad_output, input_sizes, op);
}

Tensor avg_pool_backward(std::string_view op, const Tensor& grad_output, const Dims& input_sizes,
                         int64_t dims, const Dims& kernel_size, const Dims& stride,
                         const Dims& padding, bool ceil_mode) {
  const Dims dilation{1};
  // The checks take an input tensor; a meta tensor has its sizes and dtype.
  const Tensor input = empty(input_sizes, grad_output.dtype(), Device::kMeta);
  const Windows w =
      make_windows(input, dims, {kernel_size, stride, padding, dilation, ceil_mode}, op);
  check(w.sizes == grad_output.sizes(), op, ": expected grad_output of sizes ", w.sizes,
        ", but got ", grad_output.sizes());
  return gradient_of(grad_output, input_sizes, op);
}

Tensor adaptive_avg_pool_backward(const Tensor& grad_output, const Dims& input_sizes,
                                  int64_t dims) {
  const std::string_view op = "_adaptive_avg_pool_backward";
  checked_numel(input_sizes, op);
  check(
      dims <= 3 && input_sizes.ndim() > dims && same_planes(grad_output.sizes(), input_sizes, dims),
      op, ": grad_output of sizes ", grad_output.sizes(), " and an input of ", input_sizes,
      " do not belong together");
  return gradient_of(grad_output, input_sizes, op);
}

}  // namespace uh::shapes
