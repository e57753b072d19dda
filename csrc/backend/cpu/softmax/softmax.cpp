// The operators of softmax.yaml.
#include "generated/kernels/softmax.h"

#include "backend/cpu/reduce/reducer.h"
#include "backend/cpu/scan/lines.h"
#include "backend/cpu/softmax_loops.h"
#include "generated/ops/copy.h"
#include "generated/ops/softmax.h"
#include "ops/copy/copy.h"
#include "ops/operand_checks.h"

namespace uh::kernels {
namespace {

Tensor exponential_shares(const Tensor& self, int64_t dim, bool half_to_float, bool log) {
  const char* name = log ? "log_softmax" : "softmax";
  const int64_t d = wrap_dim(dim, self.ndim(), name);
  check_kind(is_floating(self.dtype()), ErrorKind::kNotImplemented, "\"", name,
             "_kernel_impl\" not implemented for '", info(self.dtype()).title, "'");
  check(!half_to_float, name, ": half_to_float is for the GPU, got ", half_to_float);
  Tensor out = empty(self.sizes(), self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  const DType compute = sum_compute_dtype(self.dtype());
  const bool direct = compute == self.dtype();
  const Tensor x = as_contiguous(self, compute);
  Tensor result = direct ? out : empty(self.sizes(), compute, self.device());
  const SoftmaxLoops& loops = softmax_loops();
  const auto rows = loops.rows[log ? 1 : 0][static_cast<int>(compute)];
  const auto columns = loops.columns[log ? 1 : 0][static_cast<int>(compute)];
  const int64_t item = itemsize(compute);
  const Lines lines(x, d);
  lines.for_groups([&](int64_t start, int64_t count) {
    std::byte* to = result.data() + start * item;
    const std::byte* from = x.data() + start * item;
    if (lines.inner == 1)
      rows(to, from, count, lines.n);
    else
      columns(to, from, lines.inner, lines.n, count);
  });
  if (!direct) copy_elements(out, result);
  record_write(out);
  return out;
}

// The gradient of x from that of softmax(x) or log_softmax(x), the output.
Tensor shares_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType input_dtype,
                       bool log) {
  const char* name = log ? "log_softmax" : "softmax";
  const int64_t d = wrap_dim(dim, output.ndim(), name);
  check(grad.sizes() == output.sizes(), name, ": the gradient has sizes ", grad.sizes(),
        ", the output ", output.sizes());
  check_together(name, output, {&grad}, true);
  check_kind(is_floating(output.dtype()) && is_floating(grad.dtype()) && is_floating(input_dtype),
             ErrorKind::kNotImplemented, "\"", name, "_backward_data\" not implemented for '",
             info(output.dtype()).title, "'");
  Tensor out = empty(output.sizes(), input_dtype, output.device());
  if (out.is_meta() || out.numel() == 0) return out;
  const DType compute = sum_compute_dtype(output.dtype());
  const Tensor g = as_contiguous(grad, compute), y = as_contiguous(output, compute);
  Tensor result = compute == input_dtype ? out : empty(output.sizes(), compute, output.device());
  const SoftmaxLoops& loops = softmax_loops();
  const auto rows = loops.rows_backward[log ? 1 : 0][static_cast<int>(compute)];
  const auto columns = loops.columns_backward[log ? 1 : 0][static_cast<int>(compute)];
  const int64_t item = itemsize(compute);
  const Lines lines(y, d);
  lines.for_groups([&](int64_t start, int64_t count) {
    const int64_t at = start * item;
    if (lines.inner == 1)
      rows(result.data() + at, g.data() + at, y.data() + at, count, lines.n);
    else
      columns(result.data() + at, g.data() + at, y.data() + at, lines.inner, lines.n, count);
  });
  if (compute != input_dtype) copy_elements(out, result);
  record_write(out);
  return out;
}

Tensor converted(const Tensor& self, DType dtype) {
  if (dtype == DType::kUndefined || dtype == self.dtype()) return self;
  return ops::_to_copy(self, dtype, Device::kUndefined, MemoryFormat::kUndefined);
}

}  // namespace

Tensor softmax_of(KeySet, const Tensor& self, int64_t dim, bool half_to_float) {
  return exponential_shares(self, dim, half_to_float, false);
}
Tensor log_softmax_of(KeySet, const Tensor& self, int64_t dim, bool half_to_float) {
  return exponential_shares(self, dim, half_to_float, true);
}

Tensor softmax_backward_data(KeySet, const Tensor& grad_output, const Tensor& output, int64_t dim,
                             DType input_dtype) {
  return shares_backward(grad_output, output, dim, input_dtype, false);
}
Tensor log_softmax_backward_data(KeySet, const Tensor& grad_output, const Tensor& output,
                                 int64_t dim, DType input_dtype) {
  return shares_backward(grad_output, output, dim, input_dtype, true);
}

Tensor softmax(KeySet, const Tensor& self, int64_t dim, DType dtype) {
  return ops::_softmax(converted(self, dtype), dim, false);
}
Tensor log_softmax(KeySet, const Tensor& self, int64_t dim, DType dtype) {
  return ops::_log_softmax(converted(self, dtype), dim, false);
}

}  // namespace uh::kernels
