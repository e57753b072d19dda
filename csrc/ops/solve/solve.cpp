// The composites of solve.yaml.
#include <cmath>

#include "generated/kernels/solve.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/solve.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"
#include "ops/linalg/checks.h"
#include "ops/linalg/matrices.h"
#include "ops/solve/shapes.h"

namespace uh::kernels {

std::tuple<Tensor, Tensor> linalg_lu_factor(KeySet, const Tensor& a, bool pivot) {
  const auto [lu, pivots, info] = ops::linalg_lu_factor_ex(a, pivot, false);
  check_info(info, "torch.linalg.lu_factor", singular_at);
  return {lu, pivots};
}

std::tuple<Tensor, Tensor, Tensor> linalg_lu(KeySet, const Tensor& a, bool pivot) {
  check_matrix(a, "linalg.lu");
  check_lapack_dtype_unless_empty(a, "linalg.lu", Lapack::kKernelOnly);
  const auto [lu, pivots, info] = ops::linalg_lu_factor_ex(a, pivot, false);
  return ops::lu_unpack(lu, pivots, true, pivot);
}

Tensor lu_solve(KeySet, const Tensor& self, const Tensor& lu, const Tensor& pivots) {
  return ops::linalg_lu_solve(lu, pivots, self, true, false);
}

std::tuple<Tensor, Tensor> linalg_solve_ex(KeySet, const Tensor& a, const Tensor& b, bool left,
                                           bool check_errors) {
  const auto [result, lu, pivots, info] = ops::_linalg_solve_ex(a, b, left, check_errors);
  return {result, info};
}

Tensor linalg_solve(KeySet, const Tensor& a, const Tensor& b, bool left) {
  return std::get<0>(ops::linalg_solve_ex(a, b, left, true));
}

Tensor linalg_inv(KeySet, const Tensor& a) { return std::get<0>(ops::linalg_inv_ex(a, true)); }

Tensor linalg_tensorinv(KeySet, const Tensor& self, int64_t ind) {
  check(ind > 0, "linalg.tensorinv: expected a strictly positive integer for 'ind', got ", ind);
  Dims first, rest, order;
  for (int64_t d = 0; d < self.ndim(); ++d) (d < ind ? first : rest).push_back(self.size(d));
  const int64_t rows = numel_of(first), columns = numel_of(rest);
  check(rows == columns,
        "linalg.tensorinv: expected self to satisfy the requirement prod(self.shape[ind:]) == "
        "prod(self.shape[:ind]), but got ",
        columns, " != ", rows);
  Dims sizes = rest;
  for (int64_t size : first) sizes.push_back(size);
  const auto [inverse, info] = ops::linalg_inv_ex(ops::reshape(self, {rows, columns}), false);
  check_info(info, "linalg.tensorinv",
             [](int) { return "Failed to invert the input tensor, because it is singular."; });
  return ops::reshape(inverse, sizes);
}

Tensor linalg_tensorsolve(KeySet, const Tensor& self, const Tensor& other,
                          const std::optional<Dims>& dims) {
  Tensor a = self;
  if (dims) {
    Dims to(dims->size());
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = self.ndim() - static_cast<int64_t>(dims->size()) + static_cast<int64_t>(i);
    a = ops::movedim(self, *dims, to);
  }
  Dims sizes;
  for (int64_t d = other.ndim(); d < a.ndim(); ++d) sizes.push_back(a.size(d));
  const int64_t n = numel_of(sizes);
  check(n == other.numel(),
        "linalg.tensorsolve: expected self to satisfy the requirement prod(self.shape[other.ndim:])"
        " == prod(self.shape[:other.ndim]), but got ",
        n, " != ", other.numel());
  const Tensor x =
      ops::linalg_solve(ops::reshape(a, {n, n}), ops::reshape(other, {other.numel()}), true);
  return ops::reshape(x, sizes);
}

Tensor linalg_det(KeySet, const Tensor& a) { return std::get<0>(ops::_linalg_det(a)); }

std::tuple<Tensor, Tensor> linalg_slogdet(KeySet, const Tensor& a) {
  const auto [sign, log, lu, pivots] = ops::_linalg_slogdet(a);
  return {sign, log};
}

Tensor logdet(KeySet, const Tensor& a) {
  check_square(a, "logdet");
  check_lapack_dtype(a, "logdet", Lapack::kDtypes);
  const auto [sign, log] = ops::linalg_slogdet(a);
  if (is_complex(a.dtype())) return ops::add(ops::log(sign), log, Scalar(1));
  return ops::where(ops::eq(sign, Scalar(-1.0)), Scalar(std::nan("")), log);
}

}  // namespace uh::kernels
