// Running sums, products and extremes on an OpenCL device.
#include "generated/structured/scan.h"
#include "backend/opencl/copy.h"
#include "backend/opencl/kernel_calls.h"
#include "backend/opencl/registration.h"
#include "ops/reduce/shapes.h"

namespace uh::opencl {
namespace {

// The lines along a dimension of a row-major tensor: their length, and the stride of an element.
struct ScanLines {
  int64_t length = 1, step = 1, count = 1;

  ScanLines(const Tensor& self, int64_t dim) {
    if (self.ndim() == 0) return;
    const int64_t d = wrap_dim(dim, self.ndim(), "scan");
    length = self.size(d);
    for (int64_t k = d + 1; k < self.ndim(); ++k) step *= self.size(k);
    count = self.numel() / length;
  }
};

template <bool reversed>
void scan(const Tensor& self, int64_t dim, const char* combine, const Tensor& result) {
  if (result.numel() == 0) return;
  static const Source source{sources::scan, "scan"};
  const DType dtype = result.dtype();
  const ScanLines lines(result, dim);
  Defines defines;
  defines.dtype("T", dtype).text("WIDE", Defines::computed_type(dtype));
  defines.text("COMBINE(a, b)", combine);
  if (reversed) defines.text("REVERSED", "1");
  launch_items(source.kernel(result.device(), defines), lines.count, contiguous(self, dtype),
               result, lines.length, lines.step);
}

void cumsum(const Tensor& self, int64_t dim, DType, const Tensor& result) {
  scan<false>(self, dim, "(a) + (b)", result);
}
void cumsum_reversed(const Tensor& self, int64_t dim, const Tensor& result) {
  scan<true>(self, dim, "(a) + (b)", result);
}
void cumprod(const Tensor& self, int64_t dim, DType, const Tensor& result) {
  scan<false>(self, dim, "(a) * (b)", result);
}

template <bool largest>
void running_extreme(const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices) {
  if (values.numel() == 0) return;
  static const Source source{sources::scan, "extremes"};
  const ScanLines lines(values, dim);
  Defines defines = computes(self.dtype());
  defines.text("WIDE", Defines::computed_type(self.dtype())).text("COMBINE(a, b)", "(a)");
  launch_items(source.kernel(self.device(), defines), lines.count, contiguous(self), values,
               indices, int32_t{largest}, lines.length, lines.step);
}

bool is_real(const Tensor& self, DType dtype) {
  return !is_complex(dtype) && has_dtype(self.device(), dtype) &&
         has_dtype(self.device(), self.dtype());
}
constexpr auto kReal = [](const Tensor& self, const auto&...) {
  return is_real(self, self.dtype());
};
constexpr auto kRealResult = [](const Tensor& self, int64_t, DType dtype) {
  return is_real(self, or_else(dtype, self.dtype()));
};

}  // namespace

void register_scan() {
  namespace s = structured;
  register_partial<ops::cumsum_op, kRealResult, s::cumsum<cumsum>>("opencl cumsum");
  register_partial<ops::_cumsum_reversed_op, kReal, s::_cumsum_reversed<cumsum_reversed>>(
      "opencl _cumsum_reversed");
  register_partial<ops::cumprod_op, kRealResult, s::cumprod<cumprod>>("opencl cumprod");
  register_partial<ops::cummax_op, kReal, s::cummax<running_extreme<true>>>("opencl cummax");
  register_partial<ops::cummin_op, kReal, s::cummin<running_extreme<false>>>("opencl cummin");
}

}  // namespace uh::opencl
