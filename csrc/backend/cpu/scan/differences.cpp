// diff, gradient and trapezoid: composed of other operators.
#include "backend/cpu/copy/elements.h"
#include "generated/kernels/scan.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/copy.h"
#include "generated/ops/join.h"
#include "generated/ops/reduce.h"
#include "generated/ops/scan.h"
#include "generated/ops/view.h"
#include "ops/copy/write_out.h"

namespace uh::kernels {
namespace {

// Return all elements but the last, or but the first, along `dim`.
Tensor left_of(const Tensor& x, int64_t dim) {
  return ops::narrow(x, dim, 0, std::max<int64_t>(0, x.size(dim) - 1));
}
Tensor right_of(const Tensor& x, int64_t dim) {
  return x.size(dim) == 0 ? x : ops::narrow(x, dim, 1, x.size(dim) - 1);
}

Tensor both(const Tensor& y, int64_t dim) {
  return ops::add(left_of(y, dim), right_of(y, dim), Scalar(1));
}

void check_joins(const Tensor& part, const Tensor& self, int64_t dim) {
  check(part.ndim() == self.ndim(),
        "diff expects prepend or append to be the same dimension as input, got ", part.sizes(),
        " and ", self.sizes());
  for (int64_t d = 0; d < self.ndim(); ++d) {
    check(d == dim || part.size(d) == self.size(d),
          "diff expects the shape of tensor to prepend or append to match that of input except "
          "along the differencing dimension; got ",
          part.sizes(), " and ", self.sizes(), ", differing at dimension ", d);
  }
}

// Returns the distances between the points `x`, along `dim` of y.
Tensor distances(const Tensor& y, const Tensor& x, int64_t dim, std::string_view name) {
  check(y.dtype() != DType::kBool && x.dtype() != DType::kBool, name,
        ": received a bool input for `x` or `y`, but bool is not supported");
  Dims sizes = x.sizes();
  if (x.ndim() == 1) {
    check(x.size(0) == y.size(dim), name,
          ": There must be one `x` value for each sample point, got ", x.size(0), " for ",
          y.size(dim));
    sizes = Dims(y.sizes().size(), 1);
    sizes[static_cast<size_t>(dim)] = x.size(0);
  } else {
    while (sizes.ndim() < y.ndim()) sizes.insert(0, 1);
  }
  const Tensor points = ops::reshape(x, sizes);
  return ops::sub(right_of(points, dim), left_of(points, dim), Scalar(1));
}

double real_step(const Tensor& y, const Scalar& dx, std::string_view name) {
  check(y.dtype() != DType::kBool, name,
        ": received a bool input for `y`, but bool is not supported");
  check(!dx.is_complex() && dx.kind() != Scalar::Kind::kBool, name,
        ": Currently, we only support dx as a real number.");
  return dx.to_double();
}

int64_t sampled_dim(const Tensor& y, int64_t dim, std::string_view name) {
  check_kind(y.ndim() > 0, ErrorKind::kIndex, name, ": dimension specified as ", dim,
             " but tensor has no dimensions");
  return wrap_dim(dim, y.ndim(), name);
}

Tensor zeros_without(const Tensor& y, int64_t dim) {
  Dims sizes = y.sizes();
  sizes.erase(static_cast<size_t>(dim));
  Tensor out = empty(sizes, y.dtype(), y.device());
  if (!out.is_meta()) fill_elements(out, element_bytes(Scalar(0), out.dtype()));
  return out;
}

}  // namespace

Tensor diff(KeySet, const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend,
            const Tensor& append) {
  check(self.ndim() > 0, "diff expects input to be at least one-dimensional");
  check(n >= 0, "order must be non-negative but got ", n);
  if (n == 0) return ops::clone(self, MemoryFormat::kContiguous);
  const int64_t d = wrap_dim(dim, self.ndim(), "diff");
  for (const Tensor& part : {prepend, append})
    if (part) check_joins(part, self, d);
  Tensor x = self;
  if (prepend || append) {
    std::vector<Tensor> parts{self};
    if (prepend) parts.insert(parts.begin(), prepend);
    if (append) parts.push_back(append);
    x = ops::cat(parts, d);
  }
  n = std::min(n, x.size(d));
  for (int64_t i = 0; i < n; ++i) {
    x = x.dtype() == DType::kBool ? ops::logical_xor(right_of(x, d), left_of(x, d))
                                  : ops::sub(right_of(x, d), left_of(x, d), Scalar(1));
  }
  return x;
}

void diff_out(KeySet, const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend,
              const Tensor& append, const Tensor& out) {
  const Tensor result = ops::diff(self, n, dim, prepend, append);
  return n == 0 ? write_exact_out(out, result, "diff") : write_out(out, result, "diff");
}

Tensor trapezoid_x(KeySet, const Tensor& y, const Tensor& x, int64_t dim) {
  const int64_t d = sampled_dim(y, dim, "trapezoid");
  if (y.size(d) == 0) return zeros_without(y, d);
  const Tensor steps = distances(y, x, d, "trapezoid");
  const Tensor areas = ops::mul(both(y, d), steps);
  return ops::div(ops::sum(areas, Dims{d}, false, DType::kUndefined), Scalar(2.0));
}

Tensor trapezoid_dx(KeySet, const Tensor& y, const Scalar& dx, int64_t dim) {
  const int64_t d = sampled_dim(y, dim, "trapezoid");
  if (y.size(d) == 0) return zeros_without(y, d);
  const double step = real_step(y, dx, "trapezoid");
  const Tensor ends = ops::add(ops::select(y, d, 0), ops::select(y, d, -1), Scalar(1));
  const Tensor all = ops::sum(y, Dims{d}, false, DType::kUndefined);
  return ops::mul(ops::sub(all, ops::mul(ends, Scalar(0.5)), Scalar(1)), Scalar(step));
}

Tensor trapz_x(KeySet, const Tensor& y, const Tensor& x, int64_t dim) {
  return ops::trapezoid_x(y, x, dim);
}
Tensor trapz_dx(KeySet, const Tensor& y, double dx, int64_t dim) {
  return ops::trapezoid_dx(y, Scalar(dx), dim);
}

Tensor cumulative_trapezoid_x(KeySet, const Tensor& y, const Tensor& x, int64_t dim) {
  const int64_t d = sampled_dim(y, dim, "cumulative_trapezoid");
  const Tensor steps = distances(y, x, d, "cumulative_trapezoid");
  const Tensor running = ops::cumsum(ops::mul(both(y, d), steps), d, DType::kUndefined);
  return ops::div(running, Scalar(2.0));
}

Tensor cumulative_trapezoid_dx(KeySet, const Tensor& y, const Scalar& dx, int64_t dim) {
  const int64_t d = sampled_dim(y, dim, "cumulative_trapezoid");
  const double half = real_step(y, dx, "cumulative_trapezoid") / 2;
  return ops::cumsum(ops::mul(both(y, d), Scalar(half)), d, DType::kUndefined);
}

}  // namespace uh::kernels
