// Gradients of matrix factorizations.
#pragma once

#include "autograd/formula.h"

namespace uh::autograd {

Tensor cholesky_gradient(const Tensor& grad, const Tensor& factor, bool upper);
std::tuple<Tensor, Tensor> cholesky_solve_gradients(const Tensor& grad, const Tensor& x,
                                                    const Tensor& factor, bool upper, bool wants_b,
                                                    bool wants_factor);
Tensor cholesky_inverse_gradient(const Tensor& grad, const Tensor& factor, bool upper,
                                 const Tensor& inverse);
Tensor qr_gradient(const Tensor& grad_q, const Tensor& grad_r, const Tensor& q, const Tensor& r,
                   const std::string& mode);
Tensor eigh_gradient(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                     const Tensor& vectors);
Tensor eig_gradient(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                    const Tensor& vectors);
Tensor svd_gradient(const Tensor& grad_u, const Tensor& grad_s, const Tensor& grad_vh,
                    const Tensor& u, const Tensor& s, const Tensor& vh);
Tensor pinv_gradient(const Tensor& grad, const Tensor& inverse, const Tensor& a);
std::tuple<Tensor, Tensor> lstsq_gradients(const Tensor& grad_solution,
                                           const Tensor& grad_residuals, const Tensor& a,
                                           const Tensor& b, const Tensor& solution, bool wants_a,
                                           bool wants_b);
std::tuple<Tensor, Tensor> householder_product_gradients(const Tensor& grad, const Tensor& input,
                                                         const Tensor& tau);
std::tuple<Tensor, Tensor, Tensor> ormqr_gradients(const Tensor& grad, const Tensor& self,
                                                   const Tensor& tau, const Tensor& other,
                                                   bool left, bool transpose, bool wants_factors);

}  // namespace uh::autograd
