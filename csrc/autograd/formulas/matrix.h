// Functions for the gradients of linear algebra.
#pragma once

#include "autograd/formula.h"
#include "generated/ops/arrange.h"
#include "generated/ops/creation.h"
#include "generated/ops/linalg.h"
#include "generated/ops/view.h"

namespace uh::autograd::matrix {

inline Tensor adjoint(const Tensor& t) { return conj(ops::transpose(t, -2, -1)); }
inline Tensor times(const Tensor& a, const Tensor& b) { return ops::matmul(a, b); }
inline Tensor sum(const Tensor& a, const Tensor& b) { return a && b ? a + b : a ? a : b; }
inline Tensor diagonal(const Tensor& t) { return ops::diagonal(t, 0, -2, -1); }
inline Tensor embedded(const Tensor& diagonal) { return ops::diag_embed(diagonal, 0, -2, -1); }
inline Tensor row(const Tensor& vector) { return ops::unsqueeze(vector, -2); }
inline Tensor column(const Tensor& vector) { return ops::unsqueeze(vector, -1); }
inline Tensor first_columns(const Tensor& t, int64_t n) { return ops::narrow(t, -1, 0, n); }
inline Tensor first_rows(const Tensor& t, int64_t n) { return ops::narrow(t, -2, 0, n); }
inline Tensor skew(const Tensor& t) { return t - adjoint(t); }
inline Tensor identity(int64_t n, const Tensor& like) {
  return ops::eye(n, std::nullopt, like.dtype(), like.device());
}
// The real part, as a tensor of the same dtype.
inline Tensor real_part(const Tensor& t) {
  return is_complex(t.dtype()) ? (t + conj(t)) * Scalar(0.5) : t;
}

}  // namespace uh::autograd::matrix
