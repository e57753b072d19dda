#include "ops/products/shapes.h"

#include "ops/linalg/checks.h"

namespace uh::shapes {
namespace {

Tensor with_addend(const Dims& sizes, const Tensor& self, const Tensor& factor,
                   std::string_view op) {
  check(self.dtype() == factor.dtype(), op, ": self and mat2 must have the same dtype, but got ",
        info(self.dtype()).title, " and ", info(factor.dtype()).title);
  check_broadcasts_to(self.sizes(), sizes, op);
  return empty(sizes, factor.dtype(), factor.device());
}

}  // namespace

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2) {
  check(mat1.ndim() == 2, "addmm: mat1 must be a matrix, got ", mat1.ndim(), "-D tensor");
  check(mat2.ndim() == 2, "addmm: mat2 must be a matrix, got ", mat2.ndim(), "-D tensor");
  check_inner(mat1.size(0), mat1.size(1), mat2.size(0), mat2.size(1));
  check_product_dtypes(mat1, mat2, "mat1 and mat2");
  return with_addend({mat1.size(0), mat2.size(1)}, self, mat1, "addmm");
}

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2) {
  check_batches(batch1, batch2, "baddbmm");
  check(batch1.size(0) == batch2.size(0) && batch1.size(2) == batch2.size(1),
        "baddbmm: Expected size for first two dimensions of batch2 tensor to be: [", batch1.size(0),
        ", ", batch1.size(2), "] but got: [", batch2.size(0), ", ", batch2.size(1), "].");
  check_product_dtypes(batch1, batch2, "batch1 and batch2");
  return with_addend({batch1.size(0), batch1.size(1), batch2.size(2)}, self, batch1, "baddbmm");
}

Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec) {
  check(mat.ndim() == 2 && vec.ndim() == 1 && self.ndim() <= 1,
        "addmv: vector + matrix @ vector expected, got ", self.ndim(), ", ", mat.ndim(), ", ",
        vec.ndim());
  check(mat.size(1) == vec.size(0), "addmv: size mismatch, got input (", printed(self.sizes()),
        "), mat (", mat.size(0), "x", mat.size(1), "), vec (", vec.size(0), ")");
  check_product_dtypes(mat, vec, "mat and vec");
  return with_addend({mat.size(0)}, self, mat, "addmv");
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  check(input.ndim() >= 1 && (weight.ndim() == 2 || weight.ndim() == 1),
        "linear: input needs at least one dimension and weight one or two, got ", input.sizes(),
        " and ", weight.sizes());
  check(weight.ndim() == 2 || !bias, "linear: weight must be a matrix when there is a bias, got ",
        weight.sizes());
  const bool to_vector = weight.ndim() == 1;
  Dims sizes(IntSpan(input.sizes()).first(input.sizes().size() - 1));
  check_inner(numel_of(sizes), input.sizes().back(), weight.sizes().back(),
              to_vector ? 1 : weight.size(0));
  check_product_dtypes(input, weight, "mat1 and mat2");
  if (!to_vector) sizes.push_back(weight.size(0));
  if (bias) {
    check(bias.dtype() == input.dtype(),
          "linear: bias and input must have the same dtype, but got ", info(bias.dtype()).title,
          " and ", info(input.dtype()).title);
    check_broadcasts_to(bias.sizes(), sizes, "linear");
  }
  return empty(sizes, input.dtype(), input.device());
}

}  // namespace uh::shapes
