// Shape rules of decompose.yaml, and messages for failed factorizations.
#pragma once

#include <optional>
#include <string>
#include <tuple>

#include "tensor/tensor.h"

namespace uh {

std::string not_positive(int info);
std::string zero_pivot(int info);

}  // namespace uh

namespace uh::shapes {

// The factor and info.
std::tuple<Tensor, Tensor> cholesky(const Tensor& self);
Tensor cholesky_solve(const Tensor& self, const Tensor& factor);
Tensor cholesky_inverse(const Tensor& self);
std::tuple<Tensor, Tensor> qr(const Tensor& a, const std::string& mode);
// The packed factors and tau.
std::tuple<Tensor, Tensor> geqrf(const Tensor& self);
Tensor householder_product(const Tensor& input, const Tensor& tau);
Tensor ormqr(const Tensor& self, const Tensor& tau, const Tensor& other, bool left);
// Values and vectors.
std::tuple<Tensor, Tensor> eigh(const Tensor& a, const std::string& uplo, bool compute_v);
std::tuple<Tensor, Tensor> eig(const Tensor& self);
Tensor eigvals(const Tensor& self);
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& a, bool full_matrices, bool compute_uv,
                                       const std::optional<std::string>& driver);
// The packed factors, pivots and info.
std::tuple<Tensor, Tensor, Tensor> ldl_factor(const Tensor& self);
Tensor ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b);

}  // namespace uh::shapes
