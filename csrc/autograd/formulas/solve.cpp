#include "autograd/formulas/solve.h"

#include <limits>

#include "autograd/formulas/matrix.h"
#include "generated/ops/comparison.h"
#include "generated/ops/join.h"
#include "generated/ops/solve.h"

namespace uh::autograd {

using namespace matrix;  // NOLINT: the words of this file

bool is_vector(const Tensor& a, const TensorInfo& b) {
  return b.ndim() == 1 || (a.ndim() - 1 == b.ndim() &&
                           b.sizes() == Dims(IntSpan(a.sizes()).first(a.sizes().size() - 1)));
}

Tensor inverse_gradient(const Tensor& grad, const Tensor& inverse) {
  const Tensor turned = adjoint(inverse);
  return -times(turned, times(grad, turned));
}

namespace {

// A^-H b, or b A^-H: from the LU factors, or by a differentiable solve if gradients are recorded.
Tensor solved_adjoint(const Tensor& a, const Tensor& lu, const Tensor& pivots, const Tensor& b,
                      bool left) {
  if (grad_enabled()) return ops::linalg_solve(adjoint(a), b, left);
  return ops::linalg_lu_solve(lu, pivots, b, left, true);
}

// Outer product with the conjugate: the gradient of a matrix that was multiplied.
Tensor spread(const Tensor& grad, const Tensor& x, bool left) {
  return left ? times(grad, adjoint(x)) : times(adjoint(x), grad);
}

Tensor triangle(const Tensor& t, bool upper, bool unit) {
  const int64_t off = unit ? 1 : 0;
  return upper ? ops::triu(t, off) : ops::tril(t, -off);
}

// A batch of value * identity.
Tensor scaled_identities(const Tensor& values, int64_t n) {
  Dims sizes = values.sizes();
  sizes.push_back(n);
  return embedded(ops::expand(column(values), sizes, false));
}

}  // namespace

std::tuple<Tensor, Tensor> solve_gradients(const Tensor& grad, const Tensor& a, const Tensor& x,
                                           const Tensor& lu, const Tensor& pivots, bool left,
                                           bool vector, bool wants_a, bool wants_b) {
  const Tensor g = vector ? column(grad) : grad;
  const Tensor to_b = solved_adjoint(a, lu, pivots, g, left);
  return {wants_a ? -spread(to_b, vector ? column(x) : x, left) : Tensor(),
          !wants_b ? Tensor()
          : vector ? ops::squeeze(to_b, Dims{-1})
                   : to_b};
}

// det' = det A^-H. A singular matrix is perturbed slightly.
Tensor det_gradient(const Tensor& grad, const Tensor& det, const Tensor& a, const Tensor& lu,
                    const Tensor& pivots) {
  const int64_t n = a.size(-1 + a.ndim());
  const Tensor values = scaled_identities(grad * conj(det), n);
  if (grad_enabled()) return ops::linalg_solve(adjoint(a), values, true);
  const double epsilon = to_real(a.dtype()) == DType::kFloat64
                             ? std::numeric_limits<double>::epsilon()
                             : std::numeric_limits<float>::epsilon();
  const Tensor gaps = ops::eq(diagonal(lu), Scalar(0));
  const Tensor filled = lu + embedded(ops::where(gaps, Scalar(epsilon * epsilon), Scalar(0.0)));
  return ops::linalg_lu_solve(filled, pivots, values, true, true);
}

Tensor slogdet_gradient(const Tensor& grad_sign, const Tensor& grad_log, const Tensor& sign,
                        const Tensor& a, const Tensor& lu, const Tensor& pivots) {
  Tensor value = grad_log;
  if (grad_sign && is_complex(sign.dtype())) {
    const Tensor turn = conj(grad_sign) * sign;
    const Tensor imaginary = (turn - conj(turn)) * Scalar(0.5);  // i times the imaginary part
    value = value ? value - imaginary : -imaginary;
  }
  if (!value) return value;
  const Tensor values = scaled_identities(value, a.size(a.ndim() - 1));
  const Tensor rhs =
      values.dtype() == a.dtype()
          ? values
          : ops::_to_copy(values, a.dtype(), Device::kUndefined, MemoryFormat::kUndefined);
  return solved_adjoint(a, lu, pivots, rhs, true);
}

namespace {

// The gradient of A = P L U from those of L and U; one of them may be undefined.
Tensor lu_gradient(const Tensor& grad_l, const Tensor& grad_u, const Tensor& p, const Tensor& l,
                   const Tensor& u) {
  const int64_t m = l.size(l.ndim() - 2), n = u.size(u.ndim() - 1), k = std::min(m, n);
  const Tensor l1 = first_rows(l, k), u1 = first_columns(u, k);
  const auto rest_rows = [&](const Tensor& t) { return ops::narrow(t, -2, k, m - k); };
  const auto rest_columns = [&](const Tensor& t) { return ops::narrow(t, -1, k, n - k); };
  Tensor low, up;  // the parts below the diagonal, and on and above it
  if (grad_l) low = times(adjoint(l1), first_rows(grad_l, k));
  if (grad_u) up = times(first_columns(grad_u, k), adjoint(u1));
  if (grad_u && n > k) {
    const Tensor more = times(rest_columns(grad_u), adjoint(rest_columns(u)));
    low = low ? low - more : -more;
  }
  if (grad_l && m > k) {
    const Tensor more = times(adjoint(rest_rows(l)), rest_rows(grad_l));
    up = up ? up - more : -more;
  }
  Tensor middle;
  if (low) middle = ops::tril(low, -1);
  if (up) middle = sum(middle, ops::triu(up, 0));
  const Tensor u1_adjoint = adjoint(u1), l1_adjoint = adjoint(l1);
  Tensor x = ops::linalg_solve_triangular(u1_adjoint, middle, false, false, false);
  if (n > k) {
    const Tensor off_diagonal =
        grad_u ? rest_columns(grad_u) : adjoint(times(rest_columns(u), middle)) * Scalar(0.0);
    x = ops::cat(
        {x, grad_u ? off_diagonal : ops::zeros(off_diagonal.sizes(), x.dtype(), x.device())}, -1);
  }
  x = ops::linalg_solve_triangular(l1_adjoint, x, true, true, true);
  if (m > k) {
    Tensor below;
    if (grad_l)
      below = ops::linalg_solve_triangular(u1_adjoint, rest_rows(grad_l), false, false, false);
    else
      below = ops::zeros(rest_rows(l).sizes(), x.dtype(), x.device());
    x = ops::cat({x, below}, -2);
  }
  return times(p, x);
}

}  // namespace

Tensor lu_factor_gradient(const Tensor& grad, const Tensor& lu, const Tensor& pivots) {
  const auto [p, l, u] = ops::lu_unpack(lu, pivots, true, true);
  const int64_t k = std::min(lu.size(lu.ndim() - 2), lu.size(lu.ndim() - 1));
  return lu_gradient(ops::tril(first_columns(grad, k), -1), ops::triu(first_rows(grad, k), 0), p, l,
                     u);
}

Tensor lu_unpack_gradient(const Tensor& grad_l, const Tensor& grad_u, const Dims& sizes) {
  const int64_t m = sizes[sizes.size() - 2], n = sizes[sizes.size() - 1], k = std::min(m, n);
  const auto zeros_of = [&](int64_t rows, int64_t columns, const Tensor& like) {
    Dims full_sizes = sizes;
    full_sizes[full_sizes.size() - 2] = rows;
    full_sizes[full_sizes.size() - 1] = columns;
    return ops::zeros(full_sizes, like.dtype(), like.device());
  };
  Tensor low, up;
  if (grad_l) {
    low = ops::tril(grad_l, -1);
    if (n > k) low = ops::cat({low, zeros_of(m, n - k, low)}, -1);
  }
  if (grad_u) {
    up = ops::triu(grad_u, 0);
    if (m > k) up = ops::cat({up, zeros_of(m - k, n, up)}, -2);
  }
  return sum(low, up);
}

std::tuple<Tensor, Tensor> lu_solve_gradients(const Tensor& grad, const Tensor& lu,
                                              const Tensor& pivots, const Tensor& x, bool left,
                                              bool adjoint_, bool wants_lu, bool wants_b) {
  const Tensor to_b = ops::linalg_lu_solve(lu, pivots, grad, left, !adjoint_);
  if (!wants_lu) return {Tensor(), wants_b ? to_b : Tensor()};
  const auto [p, l, u] = ops::lu_unpack(lu, pivots, true, true);
  Tensor to_a = -spread(to_b, x, left);
  if (adjoint_) to_a = adjoint(to_a);
  const Tensor turned = times(ops::transpose(p, -2, -1), to_a);
  return {ops::tril(times(turned, adjoint(u)), -1) + ops::triu(times(adjoint(l), turned), 0),
          wants_b ? to_b : Tensor()};
}

std::tuple<Tensor, Tensor> solve_triangular_gradients(const Tensor& grad, const Tensor& a,
                                                      const Tensor& x, bool upper, bool left,
                                                      bool unit, bool wants_a, bool wants_b) {
  const Tensor to_b = ops::linalg_solve_triangular(adjoint(a), grad, !upper, left, unit);
  return {wants_a ? triangle(-spread(to_b, x, left), upper, unit) : Tensor(),
          wants_b ? to_b : Tensor()};
}

std::tuple<Tensor, Tensor> triangular_solve_gradients(const Tensor& grad, const Tensor& grad_copy,
                                                      const Tensor& a, const Tensor& x, bool upper,
                                                      bool transpose, bool unit, bool wants_a,
                                                      bool wants_b) {
  if (!grad) return {wants_a ? grad_copy : Tensor(), Tensor()};
  const Tensor to_b = std::get<0>(ops::triangular_solve(grad, conj(a), upper, !transpose, unit));
  Tensor to_a;
  if (wants_a) {
    const Tensor full = times(to_b, adjoint(x));
    to_a = triangle(-(transpose ? ops::transpose(full, -2, -1) : full), upper, unit);
    to_a = sum(to_a, grad_copy);
  }
  return {to_a, wants_b ? to_b : Tensor()};
}

}  // namespace uh::autograd
