// Products with an addend: addmm, baddbmm, addmv, linear.
//
// The addend is copied to the result, and BLAS adds the product to it: one pass over memory less
// than a separate sum.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/linalg/gemm.h"
#include "generated/kernels/products.h"

namespace uh::kernels {

void addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
           const Scalar& alpha, const Tensor& result) {
  const Scale scale{alpha, beta};
  if (beta.to_bool()) copy_elements(result, self);
  multiply(result, mat1, Reading::kMatrix, mat2, Reading::kMatrix, {}, &scale);
}

void baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
             const Scalar& alpha, const Tensor& result) {
  const Scale scale{alpha, beta};
  if (beta.to_bool()) copy_elements(result, self);
  multiply(result, batch1, Reading::kMatrix, batch2, Reading::kMatrix, {batch1.size(0)}, &scale);
}

void addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
           const Scalar& alpha, const Tensor& result) {
  const Scale scale{alpha, beta};
  if (beta.to_bool()) copy_elements(result, self);
  multiply(result, mat, Reading::kMatrix, vec, Reading::kColumn, {}, &scale);
}

void linear(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& result) {
  const bool to_vector = weight.ndim() == 1;
  const size_t lead = input.sizes().size() - 1;
  if (bias) copy_elements(result, bias);
  // Reads it as (batch..., rows, in) @ (in, out): a view of the weight with swapped strides.
  const Layout turned = to_vector ? Layout{weight.sizes(), weight.strides(), weight.offset()}
                                  : Layout{{weight.size(1), weight.size(0)},
                                           {weight.stride(1), weight.stride(0)},
                                           weight.offset()};
  const Tensor columns = alias(weight, turned);
  const Scale scale{Scalar(1), Scalar(1)};
  const Dims batch(IntSpan(input.sizes().data(), lead > 0 ? lead - 1 : 0));
  multiply(result, input, lead > 0 ? Reading::kMatrix : Reading::kRow, columns,
           to_vector ? Reading::kColumn : Reading::kMatrix, batch, bias ? &scale : nullptr);
}

}  // namespace uh::kernels
