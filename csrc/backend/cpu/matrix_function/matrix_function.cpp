// The operators of matrix_function.yaml.
#include "generated/kernels/matrix_function.h"

#include <cmath>
#include <limits>
#include <vector>

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

// Exponentials, by scaling and squaring: a matrix is halved until the error of a Taylor polynomial
// is below rounding, and the result is squared as often. Paterson and Stockmeyer evaluate the
// polynomial as one of A^w whose coefficients are polynomials of degree w - 1: degree 16 takes 6
// products instead of Horner's 15, and lower degrees, for small matrices, fewer.
struct Taylor {
  int degree, width;  // width divides degree
};
constexpr Taylor kTaylor[] = {{1, 1}, {2, 2}, {4, 2}, {6, 3}, {9, 3}, {12, 4}, {16, 4}};
constexpr int kDegree = 16;  // of the last: a higher one saves less than one squaring per product

// The error of exp(A) to `degree` terms, as a relative error of A, for a matrix of that norm: the
// terms left out are at most norm^(degree + 1) / (degree + 1)! times a geometric series.
double truncation(double norm, int degree) {
  if (norm >= degree) return std::numeric_limits<double>::infinity();
  double term = std::exp(norm) / (1 - norm / (degree + 2));
  for (int k = 2; k <= degree + 1; ++k) term *= norm / k;
  return term;
}

// The polynomial sum_k a^k / k! of the lowest degree that is exact enough for this norm.
Tensor taylor_series(const Tensor& a, double norm, double roundoff) {
  const Taylor* selected = kTaylor;
  while (selected->degree < kDegree && truncation(norm, selected->degree) > roundoff) ++selected;
  std::vector<Tensor> powers{Tensor(), a};
  while (static_cast<int>(powers.size()) <= selected->width)
    powers.push_back(ops::matmul(powers.back(), a));
  const Tensor identity = ops::eye(a.sizes().back(), std::nullopt, a.dtype(), a.device());
  double coefficient = 1;  // 1 / k!
  for (int k = 2; k <= selected->degree; ++k) coefficient /= k;
  Tensor result = ops::mul(powers[static_cast<size_t>(selected->width)], Scalar(coefficient));
  for (int k = selected->degree - 1; k >= 0; --k) {
    coefficient *= k + 1;
    const int power = k % selected->width;
    result = ops::add(result, power == 0 ? identity : powers[static_cast<size_t>(power)],
                      Scalar(coefficient));
    if (power == 0 && k > 0)
      result = ops::matmul(result, powers[static_cast<size_t>(selected->width)]);
  }
  return result;
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

Tensor linalg_matrix_exp(KeySet, const Tensor& self) {
  check_square(self, "linalg.matrix_exp");
  check(is_inexact(self.dtype()),
        "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got ",
        info(self.dtype()).title);
  const Tensor out = empty(self.sizes(), self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  if (self.sizes().back() == 1) return ops::exp(self);
  if (itemsize(to_real(self.dtype())) == 2) {  // each squaring doubles the error
    const DType wide = is_complex(self.dtype()) ? DType::kComplex128 : DType::kFloat64;
    const auto cast = [](const Tensor& t, DType dtype) {
      return ops::_to_copy(t, dtype, Device::kUndefined, MemoryFormat::kUndefined);
    };
    return cast(ops::linalg_matrix_exp(cast(self, wide)), self.dtype());
  }
  const double roundoff = to_real(self.dtype()) == DType::kFloat64 ? 0x1p-53 : 0x1p-24;
  const Tensor norms = as_contiguous(row_norm(self), DType::kFloat64);
  const Tensor halvings = empty(norms.sizes(), DType::kFloat64);
  int fewest = std::numeric_limits<int>::max(), most = 0;
  double largest = 0;  // of the halved norms
  for (int64_t i = 0; i < norms.numel(); ++i) {
    double norm = norms.data_as<double>()[i];
    int times = 0;
    for (; std::isfinite(norm) && truncation(norm, kDegree) > roundoff; norm /= 2) ++times;
    if (std::isnan(norm)) norm = std::numeric_limits<double>::infinity();  // no number is larger
    halvings.data_as<double>()[i] = times;
    fewest = std::min(fewest, times);
    most = std::max(most, times);
    largest = std::max(largest, norm);
  }
  const Tensor times = ops::unsqueeze(ops::unsqueeze(halvings, -1), -1);
  Tensor small = self;
  if (most > 0) {
    const Tensor scales = ops::_to_copy(ops::exp2(ops::neg(times)), to_real(self.dtype()),
                                        Device::kUndefined, MemoryFormat::kUndefined);
    small = ops::mul(self, scales);
  }
  Tensor result = taylor_series(small, largest, roundoff);
  for (int i = 0; i < most; ++i) {
    const Tensor squared = ops::matmul(result, result);
    result = i < fewest ? squared : ops::where(ops::gt(times, Scalar(i)), squared, result);
  }
  return ops::contiguous(result, MemoryFormat::kContiguous);
}

Tensor matrix_exp(KeySet, const Tensor& self) { return ops::linalg_matrix_exp(self); }

}  // namespace uh::kernels
