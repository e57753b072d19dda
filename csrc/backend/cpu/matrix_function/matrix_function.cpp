// The operators of matrix_function.yaml.
#include "generated/kernels/matrix_function.h"

#include <cmath>
#include <limits>

#include "backend/cpu/copy/elements.h"
#include "ops/linalg/checks.h"
#include "backend/cpu/linalg/matrices.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/comparison.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/decompose.h"
#include "generated/ops/linalg.h"
#include "generated/ops/matrix_function.h"
#include "generated/ops/reduce.h"
#include "generated/ops/solve.h"
#include "generated/ops/transcendental.h"
#include "generated/ops/view.h"

namespace uh::kernels {
namespace {

Tensor summed(const Tensor& t, Dims dims) {
  return ops::sum(t, std::move(dims), false, DType::kUndefined);
}

Tensor row_norm(const Tensor& a) { return ops::amax(summed(ops::abs(a), {-1}), Dims{-1}, false); }

// Norms of matrices: 1, inf and their negatives; "fro"; "nuc".
Tensor norm_by_number(const Tensor& a, double p) {
  const Tensor sums = summed(ops::abs(a), {std::abs(p) == 1 ? -2 : -1});
  return p > 0 ? ops::amax(sums, Dims{-1}, false) : ops::amin(sums, Dims{-1}, false);
}
Tensor norm_by_name(const Tensor& a, const std::string& p) {
  if (p == "nuc") return summed(ops::linalg_svdvals(a, std::nullopt), {-1});
  return ops::sqrt(summed(ops::square(ops::abs(a)), {-2, -1}));
}

Tensor nothing_like(const Tensor& a) {
  return ops::zeros(batch_of(a), to_real(a.dtype()), a.device());
}

// norm(a) norm(a^-1); infinite for a singular matrix.
template <class Norm>
Tensor by_inverse(const Tensor& a, const Norm& norm) {
  check_square(a, "linalg.cond");
  if (a.numel() == 0) return nothing_like(a);
  const auto [inverse, info] = ops::linalg_inv_ex(a, false);
  const Tensor result = ops::mul(norm(a), norm(inverse));
  return ops::where(ops::gt(info, Scalar(0)), Scalar(std::numeric_limits<double>::infinity()),
                    result);
}

void check_cond(const Tensor& a) {
  check_matrix(a, "linalg.cond");
  check_lapack_dtype_unless_empty(a, "linalg.cond");
}

}  // namespace

Tensor linalg_cond(KeySet, const Tensor& self, const std::optional<Scalar>& p) {
  check_cond(self);
  const double order = p ? p->to_double() : 2;
  if (std::abs(order) == 2) {
    if (self.numel() == 0) return nothing_like(self);
    const Tensor s = ops::linalg_svdvals(self, std::nullopt);
    const Tensor first = ops::select(s, -1, 0), last = ops::select(s, -1, -1);
    return order > 0 ? ops::div(first, last) : ops::div(last, first);
  }
  check(std::abs(order) == 1 || std::isinf(order), "linalg.cond got an invalid norm type: ", order);
  return by_inverse(self, [&](const Tensor& t) { return norm_by_number(t, order); });
}

Tensor linalg_cond_named(KeySet, const Tensor& self, const std::string& p) {
  check_cond(self);
  check(p == "fro" || p == "nuc", "linalg.cond got an invalid norm type: ", p);
  return by_inverse(self, [&](const Tensor& t) { return norm_by_name(t, p); });
}

// Scaling and squaring: halves until the norm is at most 1/2, where 16 terms of the series suffice,
// then squares as often.
Tensor linalg_matrix_exp(KeySet, const Tensor& self) {
  check_square(self, "linalg.matrix_exp");
  check(is_inexact(self.dtype()),
        "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got ",
        info(self.dtype()).title);
  const Tensor out = empty(self.sizes(), self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  const DType wide = is_complex(self.dtype()) ? DType::kComplex128 : DType::kFloat64;
  if (self.dtype() != wide) {  // each squaring doubles the error, so compute in a wider dtype
    const auto cast = [](const Tensor& t, DType dtype) {
      return ops::_to_copy(t, dtype, Device::kUndefined, MemoryFormat::kUndefined);
    };
    return cast(ops::linalg_matrix_exp(cast(self, wide)), self.dtype());
  }
  const Tensor norms = as_contiguous(row_norm(self), DType::kFloat64);
  const Tensor halvings = empty(norms.sizes(), DType::kFloat64);
  int limit = 0;
  for (int64_t i = 0; i < norms.numel(); ++i) {
    const double norm = norms.data_as<double>()[i];
    const int times =
        norm > 0.5 && std::isfinite(norm) ? static_cast<int>(std::ceil(std::log2(2 * norm))) : 0;
    halvings.data_as<double>()[i] = times;
    limit = std::max(limit, times);
  }
  const Tensor times = ops::unsqueeze(ops::unsqueeze(halvings, -1), -1);
  const Tensor scales = ops::_to_copy(ops::exp2(ops::neg(times)), to_real(self.dtype()),
                                      Device::kUndefined, MemoryFormat::kUndefined);
  const Tensor small = ops::mul(self, scales);
  const Tensor identity = ops::eye(self.sizes().back(), std::nullopt, self.dtype(), self.device());
  Tensor result = ops::expand(identity, self.sizes(), false);
  for (int term = 16; term >= 1; --term)  // Horner's rule
    result =
        ops::add(ops::mul(ops::matmul(small, result), Scalar(1.0 / term)), identity, Scalar(1));
  for (int i = 0; i < limit; ++i)
    result = ops::where(ops::gt(times, Scalar(i)), ops::matmul(result, result), result);
  return ops::contiguous(result, MemoryFormat::kContiguous);
}

Tensor matrix_exp(KeySet, const Tensor& self) { return ops::linalg_matrix_exp(self); }

}  // namespace uh::kernels
