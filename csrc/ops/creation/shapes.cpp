#include "ops/creation/shapes.h"

#include <cmath>

#include "ops/copy/element.h"
#include "ops/creation/options.h"

namespace uh::shapes {
namespace {

int64_t arange_length(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype) {
  const double a = start.to_double(), b = end.to_double(), s = step.to_double();
  check(s != 0, "arange: step must be nonzero");
  check_kind(dtype != DType::kInt64 || step.to_int() != 0, ErrorKind::kValue,
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

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype,
              Device device) {
  const bool floating = start.is_float() || end.is_float() || step.is_float();
  const DType own = floating ? default_dtype() : DType::kInt64;
  const DType target = dtype == DType::kUndefined ? own : dtype;
  check_kind(target != DType::kBool && !is_complex(target), ErrorKind::kNotImplemented,
             "\"arange_cpu\" not implemented for '", info(target).title, "'");
  const int64_t n = arange_length(start, end, step, target);
  return empty(IntSpan(&n, 1), target, or_cpu(device));
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, DType dtype,
                Device device) {
  check(steps >= 0, "linspace: number of steps must be non-negative, got ", steps);
  const bool complex = start.is_complex() || end.is_complex();
  const DType own = complex ? to_complex(default_dtype()) : default_dtype();
  Tensor out = empty(IntSpan(&steps, 1), dtype == DType::kUndefined ? own : dtype, or_cpu(device));
  check(!complex || is_complex(out.dtype()), "linspace(): inferred dtype ", info(own).title,
        " can't be safely cast to passed dtype ", info(out.dtype()).title);
  check_kind(out.dtype() != DType::kBool, ErrorKind::kNotImplemented,
             "\"linspace_cpu\" not implemented for 'Bool'");
  if (steps > 0) check_fits(start, out.dtype());
  if (steps > 1) check_fits(end, out.dtype());
  return out;
}

Tensor eye(int64_t n, std::optional<int64_t> columns, DType dtype, Device device) {
  const int64_t m = columns.value_or(n);
  check(n >= 0, "eye: n must be greater or equal to 0, got ", n);
  check(m >= 0, "eye: m must be greater or equal to 0, got ", m);
  return empty(Dims{n, m}, dtype == DType::kUndefined ? default_dtype() : dtype, or_cpu(device));
}

}  // namespace uh::shapes
