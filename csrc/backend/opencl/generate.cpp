// Ranges, triangles and padding on an OpenCL device: elements are functions of their index.
#include <cstring>

#include "backend/opencl/copy.h"
#include "backend/opencl/kernel_calls.h"
#include "backend/opencl/registration.h"
#include "generated/structured/arrange.h"
#include "generated/structured/creation.h"
#include "generated/structured/padding.h"
#include "memory/device_registry.h"
#include "ops/copy/element.h"
#include "ops/padding/margins.h"
#include "ops/reduce/shapes.h"

namespace uh::opencl {
namespace {

void arange(const Scalar& start, const Scalar&, const Scalar& step, DType, Device,
            const Tensor& out) {
  if (out.numel() == 0) return;
  static const Source source{sources::generate, "arange"};
  Defines defines = computes(out.dtype());
  if (is_floating(out.dtype())) {
    // In double, as on the CPU; in float if the device does not have double.
    if (has_dtype(out.device(), DType::kFloat64)) {
      defines.text("NEEDS_DOUBLE", "1").text("R", "double");
      launch_items(source.kernel(out.device(), defines), out.numel(), out, start.to_double(),
                   step.to_double());
    } else {
      defines.text("R", "float");
      launch_items(source.kernel(out.device(), defines), out.numel(), out,
                   static_cast<float>(start.to_double()), static_cast<float>(step.to_double()));
    }
    return;
  }
  defines.text("R", "long");
  launch_items(source.kernel(out.device(), defines), out.numel(), out, start.to_int(),
               step.to_int());
}

void linspace(const Scalar& start, const Scalar& end, int64_t steps, DType, Device,
              const Tensor& out) {
  if (out.numel() == 0) return;
  static const Source source{sources::generate, "linspace"};
  Defines defines = computes(out.dtype());
  defines.text("R", "float");
  const Kernel& kernel = source.kernel(out.device(), defines);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const T a = start.to<T>(), b = end.to<T>();
    const T step = steps > 1 ? (b - a) / static_cast<T>(steps - 1) : T(0);
    launch_items(kernel, out.numel(), out, a, b, step);
  };
  out.dtype() == DType::kFloat64 ? run(double{}) : run(float{});
}

void eye(int64_t, std::optional<int64_t>, DType, Device, const Tensor& out) {
  if (out.numel() == 0) return;
  static const Source source{sources::generate, "eye"};
  Defines defines = computes(out.dtype());
  defines.text("R", "float");
  launch_items(source.kernel(out.device(), defines), out.numel(), out, out.size(1));
}

template <bool upper>
void triangle(const Tensor& self, int64_t diagonal, const Tensor& result) {
  if (result.numel() == 0) return;
  static const Source source{sources::generate, "triangle"};
  const Defines defines = Defines().text("E", bytes_type(self.dtype()));
  const DenseResult out(result);
  const int64_t last = self.ndim() - 1;
  launch_items(source.kernel(self.device(), defines), result.numel(), contiguous(self),
               out.tensor(), self.size(last - 1), self.size(last), diagonal, int32_t{upper});
  out.store();
}

template <bool upper>
void triangle_inplace(const Tensor& self, int64_t diagonal) {
  triangle<upper>(self, diagonal, self);
}

// The struct that generate.cl declares.
constexpr size_t kPadDims = 12;
struct Padding {
  int64_t rank, mode;
  int64_t in[kPadDims], out[kPadDims], before[kPadDims], cut[kPadDims], copied[kPadDims];
  int64_t in_strides[kPadDims], out_strides[kPadDims];
};

void padded(const Tensor& self, const Dims& pad, PadMode mode, const Scalar& value,
            const Tensor& out) {
  if (out.numel() == 0) return;
  if (self.numel() == 0) return fill({}, out, value);  // only constants pad an empty input
  static const Source source{sources::generate, "pad"};
  const Margins margins = margins_of(self, pad, "pad");
  Padding p{};
  p.rank = self.ndim();
  p.mode = static_cast<int64_t>(mode);
  check(self.ndim() <= static_cast<int64_t>(kPadDims), "opencl: more than ", kPadDims,
        " dimensions");
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    p.in[d] = self.sizes()[d];
    p.out[d] = out.sizes()[d];
    p.before[d] = margins.before[d];
    p.cut[d] = std::max<int64_t>(-margins.before[d], 0);
    p.copied[d] = p.in[d] - p.cut[d] - std::max<int64_t>(-margins.after[d], 0);
    p.in_strides[d] = self.strides()[d];
    p.out_strides[d] = out.strides()[d];
  }
  const Defines defines = Defines().text("E", bytes_type(self.dtype()));
  Arguments arguments(source.kernel(out.device(), defines));
  arguments.add(self).add(out).add(p);
  const ElementBytes bytes = element_bytes(value, out.dtype());
  arguments.add_bytes(bytes.data(), static_cast<size_t>(itemsize(out.dtype())));
  arguments.add(out.numel()).launch(items_of(out.numel(), 64));
}

void constant_pad(const Tensor& self, const Dims& pad, const Scalar& value, const Tensor& result) {
  padded(self, pad, PadMode::kConstant, value, result);
}
template <PadMode mode>
void pad_by(const Tensor& self, const Dims& pad, const Tensor& result) {
  padded(self, pad, mode, Scalar(0), result);
}

bool makes(DType dtype, Device device) {
  return !is_complex(dtype) && has_dtype(with_index(device), dtype);
}
constexpr auto kRange = [](const Scalar& start, const Scalar& end, const Scalar& step, DType dtype,
                           Device device) {
  const bool floating = start.is_float() || end.is_float() || step.is_float();
  return makes(or_else(dtype, floating ? default_dtype() : DType::kInt64), device);
};
constexpr auto kSteps = [](const Scalar&, const Scalar&, int64_t, DType dtype, Device device) {
  const DType own = or_else(dtype, default_dtype());
  return is_floating(own) && makes(own, device);
};
constexpr auto kMatrix = [](int64_t, std::optional<int64_t>, DType dtype, Device device) {
  return makes(or_else(dtype, default_dtype()), device);
};

}  // namespace

void register_generate() {
  namespace s = structured;
  constexpr Key kKey = Key::kOpenCL;
  register_partial<ops::arange_op, kRange, s::arange<arange>>("opencl arange");
  register_partial<ops::linspace_op, kSteps, s::linspace<linspace>>("opencl linspace");
  register_partial<ops::eye_op, kMatrix, s::eye<eye>>("opencl eye");
  s::register_tril<triangle<false>>(kKey, "opencl tril");
  s::register_triu<triangle<true>>(kKey, "opencl triu");
  s::register_tril_<triangle_inplace<false>>(kKey, "opencl tril_");
  s::register_triu_<triangle_inplace<true>>(kKey, "opencl triu_");
  s::register_constant_pad_nd<constant_pad>(kKey, "opencl constant_pad_nd");
  s::register_reflection_pad1d<pad_by<PadMode::kReflect>>(kKey, "opencl reflection_pad1d");
  s::register_reflection_pad2d<pad_by<PadMode::kReflect>>(kKey, "opencl reflection_pad2d");
  s::register_reflection_pad3d<pad_by<PadMode::kReflect>>(kKey, "opencl reflection_pad3d");
  s::register_replication_pad1d<pad_by<PadMode::kReplicate>>(kKey, "opencl replication_pad1d");
  s::register_replication_pad2d<pad_by<PadMode::kReplicate>>(kKey, "opencl replication_pad2d");
  s::register_replication_pad3d<pad_by<PadMode::kReplicate>>(kKey, "opencl replication_pad3d");
  s::register__pad_circular<pad_by<PadMode::kCircular>>(kKey, "opencl _pad_circular");
}

}  // namespace uh::opencl
