// Gradients of linear equations, inverses, determinants and triangular factors.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

// Swaps two gradients if the operator's argument order differs from the formula's.
inline std::tuple<Tensor, Tensor> swapped(std::tuple<Tensor, Tensor> both) {
  return {std::move(std::get<1>(both)), std::move(std::get<0>(both))};
}

// True if the right-hand side is a vector or a batch of vectors.
bool is_vector(const Tensor& a, const TensorInfo& b);
Tensor inverse_gradient(const Tensor& grad, const Tensor& inverse);
// The required gradients of A and B in A X = B (or X A = B).
std::tuple<Tensor, Tensor> solve_gradients(const Tensor& grad, const Tensor& a, const Tensor& x,
                                           const Tensor& lu, const Tensor& pivots, bool left,
                                           bool vector, bool wants_a, bool wants_b);
Tensor det_gradient(const Tensor& grad, const Tensor& det, const Tensor& a, const Tensor& lu,
                    const Tensor& pivots);
Tensor slogdet_gradient(const Tensor& grad_sign, const Tensor& grad_log, const Tensor& sign,
                        const Tensor& a, const Tensor& lu, const Tensor& pivots);
Tensor lu_factor_gradient(const Tensor& grad, const Tensor& lu, const Tensor& pivots);
Tensor lu_unpack_gradient(const Tensor& grad_l, const Tensor& grad_u, const Dims& sizes);
std::tuple<Tensor, Tensor> lu_solve_gradients(const Tensor& grad, const Tensor& lu,
                                              const Tensor& pivots, const Tensor& x, bool left,
                                              bool adjoint, bool wants_lu, bool wants_b);
std::tuple<Tensor, Tensor> solve_triangular_gradients(const Tensor& grad, const Tensor& a,
                                                      const Tensor& x, bool upper, bool left,
                                                      bool unit, bool wants_a, bool wants_b);
// The gradients of the deprecated triangular_solve, whose second result is a copy of A.
std::tuple<Tensor, Tensor> triangular_solve_gradients(const Tensor& grad, const Tensor& grad_copy,
                                                      const Tensor& a, const Tensor& x, bool upper,
                                                      bool transpose, bool unit, bool wants_a,
                                                      bool wants_b);

}  // namespace uh::autograd
