#include "autograd/formulas/decompose.h"

#include "autograd/formulas/matrix.h"
#include "generated/ops/comparison.h"
#include "generated/ops/decompose.h"
#include "generated/ops/join.h"
#include "generated/ops/masked.h"
#include "generated/ops/reduce.h"
#include "generated/ops/solve.h"
#include "generated/ops/transcendental.h"

namespace uh::autograd {

using namespace matrix;  // NOLINT: the words of this file

namespace {

int64_t rows_of(const Tensor& t) { return t.size(t.ndim() - 2); }
int64_t columns_of(const Tensor& t) { return t.size(t.ndim() - 1); }

Tensor with_halved_diagonal(const Tensor& t) { return t - embedded(diagonal(t)) * Scalar(0.5); }

}  // namespace

Tensor cholesky_gradient(const Tensor& grad, const Tensor& factor, bool upper) {
  const Tensor l = upper ? adjoint(factor) : factor, g = upper ? adjoint(grad) : grad;
  const Tensor low = ops::tril(times(adjoint(l), g), 0);
  // As in PyTorch, imaginary parts of the diagonal remain: A's are taken for 0 and change nothing.
  const Tensor both = (low + adjoint(ops::tril(low, -1))) * Scalar(0.5);
  const Tensor half = ops::linalg_solve_triangular(adjoint(l), both, true, true, false);
  return ops::linalg_solve_triangular(l, half, false, false, false);
}

std::tuple<Tensor, Tensor> cholesky_solve_gradients(const Tensor& grad, const Tensor& x,
                                                    const Tensor& factor, bool upper, bool wants_b,
                                                    bool wants_factor) {
  const Tensor to_b = ops::cholesky_solve(grad, factor, upper);
  Tensor to_factor;
  if (wants_factor) {
    const Tensor product = times(to_b, adjoint(x));
    const Tensor both = product + adjoint(product);
    to_factor = -(upper ? times(factor, both) : times(both, factor));
  }
  return {wants_b ? to_b : Tensor(), to_factor};
}

Tensor cholesky_inverse_gradient(const Tensor& grad, const Tensor& factor, bool upper,
                                 const Tensor& inverse) {
  const Tensor both = times(inverse, times(grad + adjoint(grad), inverse));
  return -(upper ? times(factor, both) : times(both, factor));
}

namespace {

// A = Q R with square R: A has at least as many rows as columns.
Tensor square_qr_gradient(const Tensor& grad_q, const Tensor& grad_r, const Tensor& q,
                          const Tensor& r) {
  Tensor middle;
  if (grad_r) middle = times(grad_r, adjoint(r));
  if (grad_q) {
    const Tensor more = times(adjoint(q), grad_q);
    middle = middle ? middle - more : -more;
  }
  middle = ops::triu(middle, 0);
  const Tensor both = middle + adjoint(middle);  // its diagonal is twice the real part
  const Tensor product = times(q, with_halved_diagonal(both));
  return ops::linalg_solve_triangular(adjoint(r), sum(product, grad_q), false, false, false);
}

}  // namespace

Tensor qr_gradient(const Tensor& grad_q, const Tensor& grad_r, const Tensor& q, const Tensor& r,
                   const std::string& mode) {
  check(mode != "r",
        "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
        "linalg.qr(A, mode='reduced') if you are going to require gradients");
  const int64_t m = rows_of(q), n = columns_of(r), k = std::min(m, n);
  check(mode != "complete" || m <= n,
        "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.");
  if (n == k) return square_qr_gradient(grad_q, grad_r, q, r);
  // The columns of A beyond the first k only determine those of R: R2 = Q^H A2.
  const auto last_columns = [&](const Tensor& t) { return ops::narrow(t, -1, k, n - k); };
  Tensor to_q = grad_q, first;
  if (grad_r) {
    to_q = sum(to_q, times(times(q, last_columns(r)), adjoint(last_columns(grad_r))));
    first = first_columns(grad_r, k);
  }
  const Tensor left = square_qr_gradient(to_q, first, q, first_columns(r, k));
  const Tensor right =
      grad_r ? times(q, last_columns(grad_r))
             : ops::zeros(times(q, last_columns(r)).sizes(), left.dtype(), left.device());
  return ops::cat({left, right}, -1);
}

namespace {

// Differences of the values, e[i, j] = values[j] - values[i], with ones on the diagonal.
Tensor differences(const Tensor& values) {
  return row(values) - column(values) + identity(values.sizes().back(), values);
}

void check_phase(const Tensor& product, std::string_view op) {
  if (!is_complex(product.dtype()) || grad_enabled() || product.is_meta()) return;
  const Tensor turn = diagonal(product);
  const Tensor imaginary = ops::abs((turn - conj(turn)) * Scalar(0.5));
  const Tensor size = ops::abs(product);
  if (imaginary.numel() == 0) return;
  const double tolerance = to_real(product.dtype()) == DType::kFloat64 ? 1e-7 : 1e-2;
  const auto largest = [](const Tensor& t) { return ops::amax(t, Dims{}, false); };
  const Tensor allowed = ops::clamp_min(largest(size), Scalar(1.0)) * Scalar(tolerance);
  const Tensor turned = ops::gt(largest(imaginary), allowed);
  check(!*turned.data_as<bool>(), op,
        ": The eigenvectors or singular vectors in the complex case are specified up to "
        "multiplication by e^{i phi}. The specified loss function depends on this quantity, so it "
        "is ill-defined.");
}

}  // namespace

Tensor eigh_gradient(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                     const Tensor& vectors) {
  const Tensor turned = adjoint(vectors);
  if (!grad_vectors) return times(vectors * row(grad_values), turned);
  const Tensor product = times(turned, grad_vectors);
  check_phase(product, "linalg_eigh_backward");
  // Rotations of the vectors have skew-Hermitian generators: the gradient is Hermitian, like `self`.
  Tensor middle = skew(product) * Scalar(0.5) / differences(values);
  middle = middle - embedded(diagonal(middle));
  if (grad_values) middle = middle + embedded(grad_values);
  return times(vectors, times(middle, turned));
}

Tensor eig_gradient(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                    const Tensor& vectors) {
  const Tensor turned = adjoint(vectors);
  Tensor middle;
  if (grad_vectors) {
    const Tensor product = times(turned, grad_vectors);
    check_phase(product, "linalg_eig_backward");
    const Tensor retained = times(turned, vectors * row(real_part(diagonal(product))));
    middle = (product - retained) / conj(differences(values));
    middle = middle - embedded(diagonal(middle));
  }
  if (grad_values) middle = sum(middle, embedded(grad_values));
  return ops::linalg_solve(turned, times(middle, turned), true);
}

Tensor svd_gradient(const Tensor& grad_u, const Tensor& grad_s, const Tensor& grad_vh,
                    const Tensor& u_, const Tensor& s, const Tensor& vh_) {
  const int64_t k = s.sizes().back(), m = rows_of(u_), n = columns_of(vh_);
  const Tensor u = first_columns(u_, k), vh = first_rows(vh_, k);
  if (!grad_u && !grad_vh) return times(u * row(grad_s), vh);
  const Tensor gu = grad_u ? first_columns(grad_u, k) : grad_u;
  const Tensor gv = grad_vh ? adjoint(first_rows(grad_vh, k)) : grad_vh;
  const Tensor squares = s * s, distance = differences(squares);
  Tensor middle, turn;  // turn: the imaginary diagonal, a rotation of u relative to vh
  Tensor products;      // checked: u and vh may rotate together, and the loss must not depend on it
  if (gu) {
    const Tensor product = skew(times(adjoint(u), gu));
    turn = diagonal(product);
    products = product;
    middle = product / distance * row(s);
  }
  if (gv) {
    const Tensor product = skew(times(vh, gv));
    products = sum(products, product);
    middle = sum(middle, column(s) * (product / distance));
  }
  check_phase(products, "svd_backward");
  middle = middle - embedded(diagonal(middle));
  if (turn && is_complex(u.dtype())) middle = middle + embedded(turn / (s * Scalar(2.0)));
  if (grad_s) middle = middle + embedded(grad_s);
  Tensor result;
  if (m > k && gu) {
    // The component outside of the column space of u, divided by s.
    const Tensor scaled = gu / row(s);
    result = times(times(u, middle) + scaled - times(u, times(adjoint(u), scaled)), vh);
  } else {
    result = times(u, times(middle, vh));
  }
  if (n > k && gv) {
    const Tensor scaled = adjoint(gv / row(s));
    result = result + times(u, scaled - times(times(scaled, adjoint(vh)), vh));
  }
  return result;
}

Tensor pinv_gradient(const Tensor& grad, const Tensor& inverse, const Tensor& a) {
  const Tensor turned = adjoint(inverse), back = adjoint(grad);
  const Tensor direct = times(turned, times(grad, turned));
  const Tensor along = times(times(back, inverse), turned);   // g^H P P^H
  const Tensor across = times(turned, times(inverse, back));  // P^H P g^H
  return along - times(a, times(inverse, along)) + across - times(times(across, inverse), a) -
         direct;
}

std::tuple<Tensor, Tensor> lstsq_gradients(const Tensor& grad_solution,
                                           const Tensor& grad_residuals, const Tensor& a,
                                           const Tensor& b, const Tensor& solution, bool wants_a,
                                           bool wants_b) {
  const bool vector = b.ndim() == a.ndim() - 1;
  const auto matrix_of = [&](const Tensor& t) { return vector ? column(t) : t; };
  const Tensor right = matrix_of(b), x = matrix_of(solution);
  Tensor to_a, to_b;
  if (grad_solution) {
    const Tensor g = matrix_of(grad_solution);
    const Tensor inverse = ops::linalg_pinv_atol_rtol_float(a, std::nullopt, std::nullopt, false);
    if (wants_a) to_a = pinv_gradient(times(g, adjoint(right)), inverse, a);
    if (wants_b) to_b = times(adjoint(inverse), g);
  }
  if (grad_residuals && grad_residuals.numel() > 0) {
    const Tensor remainder = (times(a, x) - right) * row(grad_residuals) * Scalar(2.0);
    if (wants_a) to_a = sum(to_a, times(remainder, adjoint(x)));
    if (wants_b) to_b = sum(to_b, -remainder);
  }
  return {to_a, to_b && vector ? ops::squeeze(to_b, Dims{-1}) : to_b};
}

}  // namespace uh::autograd
