// The shape rules and composites of distance.yaml.
#include "ops/distance/shapes.h"

#include "generated/kernels/distance.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/norms.h"
#include "ops/linalg/matrices.h"
#include "ops/operand_checks.h"

namespace uh::shapes {
namespace {

void check_distance(const Tensor& t, double p, std::string_view op) {
  check(t.dtype() == DType::kFloat32 || t.dtype() == DType::kFloat64, op,
        " only supports floating-point dtypes float32 and float64, got: ", name(t.dtype()));
  check(p >= 0, op, " only supports non-negative p values, got ", p);
}

// Returns how many pairs n rows have.
int64_t pairs_of(int64_t n, std::string_view op) {
  return n < 2 ? 0 : checked_numel(Dims{n, n - 1}, op) / 2;
}

}  // namespace

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> mode) {
  check(x1.ndim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", x1.ndim(), "D");
  check(x2.ndim() >= 2, "cdist only supports at least 2D tensors, X2 got: ", x2.ndim(), "D");
  check(columns_of(x1) == columns_of(x2),
        "X1 and X2 must have the same number of columns. X1: ", columns_of(x1),
        " X2: ", columns_of(x2));
  check_distance(x1, p, "cdist");
  check_distance(x2, p, "cdist");
  check(x1.dtype() == x2.dtype(), "cdist: expected X1 and X2 of the same dtype, got ",
        name(x1.dtype()), " and ", name(x2.dtype()));
  check(mode.value_or(0) >= 0 && mode.value_or(0) <= 2,
        "cdist: possible modes: 0, 1, 2, but was: ", mode.value_or(0));
  const Dims batch = broadcast_shapes(batch_of(x1), batch_of(x2));
  return empty(matrix_sizes(batch, rows_of(x1), rows_of(x2)), x1.dtype(), x1.device());
}

Tensor pdist(const Tensor& self, double p) {
  check(self.ndim() == 2, "pdist only supports 2D tensors, got: ", self.ndim(), "D");
  const int64_t n = rows_of(self), k = columns_of(self);
  check(is_floating(self.dtype()), "pdist only supports floating-point dtypes");
  check_kind(n < 2 || k == 0 || !is_reduced_floating(self.dtype()), ErrorKind::kNotImplemented,
             "\"pdist\" not implemented for '", info(self.dtype()).title, "'");
  check(p >= 0, "pdist only supports non-negative p values, got ", p);
  return empty(Dims{pairs_of(n, "pdist")}, self.dtype(), self.device());
}

Tensor cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p,
                      const Tensor& distance) {
  const std::string_view op = "_cdist_backward";
  check_distance(x1, p, op);
  check_together(op, x1, {&x2, &grad, &distance});
  check(x1.ndim() >= 2 && x2.ndim() >= 2 && grad.ndim() >= 2 && columns_of(x1) == columns_of(x2),
        op, ": x1 of sizes ", x1.sizes(), " and x2 of ", x2.sizes(), " do not belong together");
  const int64_t n = rows_of(x1), m = rows_of(x2), k = columns_of(x1);
  const Dims batch = batch_of(grad);
  check(grad.sizes() == matrix_sizes(batch, n, m) && distance.sizes() == grad.sizes(), op,
        ": the gradient has sizes ", grad.sizes(), " and the distances ", distance.sizes(), " for ",
        n, " x ", m, " pairs");
  return empty(matrix_sizes(batch, n, k), x1.dtype(), x1.device());
}

Tensor pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& distance) {
  const std::string_view op = "_pdist_backward";
  check_distance(self, p, op);
  check_together(op, self, {&grad, &distance});
  check(self.ndim() == 2, op, ": expected a 2D tensor, got sizes ", self.sizes());
  const int64_t n = rows_of(self);
  const Dims pairs{self.is_meta() ? grad.numel() : pairs_of(n, op)};
  check(grad.sizes() == pairs && distance.sizes() == pairs, op, ": the gradient has sizes ",
        grad.sizes(), " and the distances ", distance.sizes(), " for ", pairs, " pairs");
  return empty(self.sizes(), self.dtype(), self.device());
}

}  // namespace uh::shapes

namespace uh::kernels {

Tensor pairwise_distance(KeySet, const Tensor& x1, const Tensor& x2, double p, double eps,
                         bool keepdim) {
  const Tensor difference = ops::add(ops::sub(x1, x2, Scalar(1)), Scalar(eps), Scalar(1));
  return ops::linalg_vector_norm(difference, Scalar(p), Dims{-1}, keepdim, DType::kUndefined);
}

}  // namespace uh::kernels
