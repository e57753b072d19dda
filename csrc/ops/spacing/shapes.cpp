#include "ops/spacing/shapes.h"

#include "generated/kernels/spacing.h"
#include "generated/ops/creation.h"
#include "generated/ops/join.h"
#include "generated/ops/scan.h"
#include "generated/ops/spacing.h"
#include "generated/ops/view.h"
#include "ops/creation/options.h"

namespace uh::shapes {

Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, DType dtype, Device device) {
  check(steps >= 0, "logspace: number of steps must be non-negative, got ", steps);
  const bool complex = start.is_complex() || end.is_complex();
  const DType own = complex ? to_complex(default_dtype()) : default_dtype();
  const DType target = dtype == DType::kUndefined ? own : dtype;
  check(!complex || is_complex(target), "logspace(): inferred dtype ", info(own).title,
        " can't be safely cast to passed dtype ", info(target).title);
  check_kind(target != DType::kBool, ErrorKind::kNotImplemented,
             "\"logspace_cpu\" not implemented for 'Bool'");
  return empty(Dims{steps}, target, or_cpu(device));
}

Tensor window(std::string_view op, int64_t window_length, DType dtype, Device device) {
  const DType target = or_default(dtype);
  check(is_floating(target), op, " expects floating point dtypes, got ", info(target).title);
  check(window_length >= 0, op,
        " requires non-negative window_length, got window_length=", window_length);
  return empty(Dims{window_length}, target, or_cpu(device));
}

}  // namespace uh::shapes

namespace uh::kernels {

Tensor vander(KeySet, const Tensor& x, std::optional<int64_t> N, bool increasing) {
  check(x.ndim() == 1, "vander: x must be a one-dimensional tensor, got ", x.ndim(), " dimensions");
  const int64_t n = N.value_or(x.size(0));
  check(n >= 0, "vander: N must be non-negative, got ", n);
  const DType dtype = promote(x.dtype(), DType::kInt64);
  Tensor out = ops::ones({x.size(0), std::min<int64_t>(n, 1)}, dtype, x.device());
  if (n > 1) {
    const Tensor repeated = ops::expand(ops::unsqueeze(x, 1), {x.size(0), n - 1}, false);
    out = ops::cat({out, ops::cumprod(repeated, 1, dtype)}, 1);
  }
  return increasing ? out : ops::flip(out, {1});
}

}  // namespace uh::kernels
