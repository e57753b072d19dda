// arange, linspace, eye: elements that follow from their index.
#include <cmath>

#include "backend/cpu/copy/elements.h"
#include "backend/cpu/copy_loops.h"
#include "base/parallel.h"
#include "generated/kernels/creation.h"

namespace uh::kernels {
namespace {

constexpr int64_t kGrainSize = 32768;
constexpr int64_t kChunk = 512;

Device cpu_unless(Device device) { return device == Device::kUndefined ? Device::kCPU : device; }

// out[i] = f(i), computed as T and converted to the dtype of `out`.
template <class T, class F>
void generate(const Tensor& out, const F& f) {
  const int64_t item = itemsize(out.dtype());
  const bool direct = out.dtype() == dtype_of<T>::value;
  parallel_for(0, out.numel(), kGrainSize, [&](int64_t lo, int64_t hi) {
    if (direct) {
      T* at = out.data_as<T>();
      for (int64_t i = lo; i < hi; ++i) at[i] = f(i);
      return;
    }
    T buffer[kChunk];
    for (int64_t i = lo; i < hi; i += kChunk) {
      const int64_t m = std::min(kChunk, hi - i);
      for (int64_t j = 0; j < m; ++j) buffer[j] = f(i + j);
      cast_run(out.data() + i * item, out.dtype(), buffer, dtype_of<T>::value, m);
    }
  });
  record_write(out);
}

int64_t arange_length(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype) {
  const double a = start.to_double(), b = end.to_double(), s = step.to_double();
  const bool integral = !is_floating(dtype);  // the elements are computed as integers
  check(s != 0, "arange: step must be nonzero");
  check_kind(!integral || step.to_int() != 0, ErrorKind::kValue,
             "arange: step must be nonzero, got ", step, " as ", name(dtype));
  check(std::isfinite(a) && std::isfinite(b), "arange: unsupported range: ", start, " -> ", end);
  check((s > 0 && b >= a) || (s < 0 && b <= a),
        "arange: upper bound and lower bound inconsistent with step sign: start ", start, ", end ",
        end, ", step ", step);
  if (dtype == DType::kInt64) {
    const auto distance = static_cast<__int128>(end.to_int()) - start.to_int();
    const auto stride = static_cast<__int128>(step.to_int());
    const auto n = (distance + stride - (stride > 0 ? 1 : -1)) / stride;
    check(n <= INT64_MAX, "arange: invalid size, possible overflow");
    return static_cast<int64_t>(n);
  }
  const double n = std::ceil((b - a) / s);
  check(n >= 0 && n < 9.2e18, "arange: invalid size, possible overflow");
  return static_cast<int64_t>(n);
}

}  // namespace

Tensor arange(KeySet, const Scalar& start, const Scalar& end, const Scalar& step, DType dtype,
              Device device) {
  const bool floating = start.is_float() || end.is_float() || step.is_float();
  const DType own = floating ? default_dtype() : DType::kInt64;
  const DType target = dtype == DType::kUndefined ? own : dtype;
  check_kind(target != DType::kBool && !is_complex(target), ErrorKind::kNotImplemented,
             "\"arange_cpu\" not implemented for '", info(target).title, "'");
  const int64_t n = arange_length(start, end, step, target);
  Tensor out = empty(IntSpan(&n, 1), target, cpu_unless(device));
  if (out.is_meta()) return out;
  if (is_floating(target)) {
    const double a = start.to_double(), s = step.to_double();
    generate<double>(out, [=](int64_t i) { return a + static_cast<double>(i) * s; });
  } else {
    const auto a = static_cast<uint64_t>(start.to_int()), s = static_cast<uint64_t>(step.to_int());
    generate<int64_t>(
        out, [=](int64_t i) { return static_cast<int64_t>(a + static_cast<uint64_t>(i) * s); });
  }
  return out;
}

Tensor linspace(KeySet, const Scalar& start, const Scalar& end, int64_t steps, DType dtype,
                Device device) {
  check(steps >= 0, "linspace: number of steps must be non-negative, got ", steps);
  const bool complex = start.is_complex() || end.is_complex();
  const DType own = complex ? to_complex(default_dtype()) : default_dtype();
  Tensor out =
      empty(IntSpan(&steps, 1), dtype == DType::kUndefined ? own : dtype, cpu_unless(device));
  check(!complex || is_complex(out.dtype()), "linspace(): inferred dtype ", info(own).title,
        " can't be safely cast to passed dtype ", info(out.dtype()).title);
  check_kind(out.dtype() != DType::kBool, ErrorKind::kNotImplemented,
             "\"linspace_cpu\" not implemented for 'Bool'");
  if (out.is_meta()) return out;
  if (steps > 0) check_fits(start, out.dtype());
  if (steps > 1) check_fits(end, out.dtype());
  // From both ends towards the middle: the last element is exactly `end`. Integers begin and end
  // with integers.
  const auto fill = [&](auto zero) {
    using T = decltype(zero);
    const bool integral = is_integral(out.dtype());
    const T a = integral ? static_cast<T>(start.to_int()) : start.to<T>();
    const T b = integral ? static_cast<T>(end.to_int()) : end.to<T>();
    const T step = steps > 1 ? (b - a) / static_cast<T>(steps - 1) : T(0);
    generate<T>(out, [=](int64_t i) {
      return i < steps / 2 || steps == 1 ? a + step * static_cast<T>(i)
                                         : b - step * static_cast<T>(steps - i - 1);
    });
  };
  if (is_complex(out.dtype()))
    out.dtype() == DType::kComplex64 ? fill(Complex64{}) : fill(Complex128{});
  else
    out.dtype() == DType::kFloat32 ? fill(float{}) : fill(double{});
  return out;
}

Tensor eye(KeySet, int64_t n, std::optional<int64_t> columns, DType dtype, Device device) {
  const int64_t m = columns.value_or(n);
  check(n >= 0, "eye: n must be greater or equal to 0, got ", n);
  check(m >= 0, "eye: m must be greater or equal to 0, got ", m);
  Tensor out =
      empty(Dims{n, m}, dtype == DType::kUndefined ? default_dtype() : dtype, cpu_unless(device));
  if (out.is_meta() || out.numel() == 0) return out;
  fill_elements(out, element_bytes(0, out.dtype()));
  const ElementBytes one = element_bytes(1, out.dtype());
  const auto fill = copy_loops().fill[size_class(itemsize(out.dtype()))];
  fill(out.data(), m + 1, one.data(), std::min(n, m));
  record_write(out);
  return out;
}

}  // namespace uh::kernels
