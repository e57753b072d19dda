#include "backend/opencl/softmax.h"

#include "backend/opencl/copy.h"
#include "backend/opencl/host.h"
#include "backend/opencl/launch.h"
#include "generated/structured/softmax.h"

namespace uh::opencl {
namespace {

struct Lines {
  int64_t count = 1, n = 1, inner = 1;

  Lines(const Tensor& t, int64_t dim) {
    if (t.ndim() == 0) return;
    const int64_t at = dim < 0 ? dim + t.ndim() : dim;
    n = t.size(at);
    for (int64_t d = at + 1; d < t.ndim(); ++d) inner *= t.size(d);
    count = t.numel() / std::max<int64_t>(1, n);
  }
};

Defines definitions(bool log, DType dtype, DType result, const OpenclDevice& device) {
  Defines defines;
  if (log) defines.number("LOG_FORM", 1);
  if (device.has_double) defines.text("NEEDS_DOUBLE", "1");
  defines.text("ACC", device.has_double ? "double" : "float");
  return defines.dtype("T", dtype).dtype("O", result);
}

// Chooses the size of the groups: as many items as a line can occupy.
void launch_lines(Arguments& arguments, const Kernel& kernel, const Lines& lines) {
  size_t group = 1;
  while (group * 2 <= preferred_group(kernel) && static_cast<int64_t>(group) * 4 < lines.n)
    group *= 2;
  const auto units = static_cast<int64_t>(kernel.device.compute_units);
  const int64_t run = kernel.device.is_cpu ? (lines.count + units * 4 - 1) / (units * 4) : 1;
  arguments.add(lines.count).add(lines.n).add(lines.inner).add(run);
  arguments.add(LocalMemory{group * sizeof(double)});
  arguments.launch(groups_of((lines.count + run - 1) / run, group));
}

template <class Op>
void forward(const Op& op, bool log, const Tensor& self, int64_t dim, bool half_to_float,
             const Tensor& result) {
  static const Source source(sources::softmax, "softmax_lines");
  if (!has_dtype(self.device(), self.dtype()) || is_complex(self.dtype()))
    return on_cpu(op, std::tuple(result), self, dim, half_to_float);
  if (result.numel() == 0) return;
  const Tensor x = contiguous(self);
  const Kernel& kernel = source.kernel(
      self.device(), definitions(log, x.dtype(), result.dtype(), device_of(self.device())),
      op.schema().name());
  Arguments arguments(kernel);
  arguments.add(x).add(result);
  launch_lines(arguments, kernel, Lines(x, dim));
}

template <class Op>
void backward(const Op& op, bool log, const Tensor& grad, const Tensor& output, int64_t dim,
              DType input_dtype, const Tensor& result) {
  static const Source source(sources::softmax, "softmax_backward_lines");
  if (!has_dtype(output.device(), output.dtype()) || is_complex(output.dtype()))
    return on_cpu(op, std::tuple(result), grad, output, dim, input_dtype);
  if (result.numel() == 0) return;
  const Tensor g = contiguous(grad, output.dtype()), y = contiguous(output);
  const Kernel& kernel =
      source.kernel(y.device(), definitions(log, y.dtype(), result.dtype(), device_of(y.device())),
                    op.schema().name());
  Arguments arguments(kernel);
  arguments.add(g).add(y).add(result);
  launch_lines(arguments, kernel, Lines(y, dim));
}

void softmax(const Tensor& self, int64_t dim, bool half_to_float, const Tensor& result) {
  forward(ops::_softmax_op, false, self, dim, half_to_float, result);
}
void log_softmax(const Tensor& self, int64_t dim, bool half_to_float, const Tensor& result) {
  forward(ops::_log_softmax_op, true, self, dim, half_to_float, result);
}
void softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType input_dtype,
                      const Tensor& result) {
  backward(ops::_softmax_backward_data_op, false, grad, output, dim, input_dtype, result);
}
void log_softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType input_dtype,
                          const Tensor& result) {
  backward(ops::_log_softmax_backward_data_op, true, grad, output, dim, input_dtype, result);
}

}  // namespace

void register_softmax() {
  constexpr Key kKey = Key::kOpenCL;
  structured::register__softmax<softmax>(kKey, "opencl _softmax");
  structured::register__log_softmax<log_softmax>(kKey, "opencl _log_softmax");
  structured::register__softmax_backward_data<softmax_backward>(kKey, "opencl softmax backward");
  structured::register__log_softmax_backward_data<log_softmax_backward>(
      kKey, "opencl log_softmax backward");
}

}  // namespace uh::opencl
