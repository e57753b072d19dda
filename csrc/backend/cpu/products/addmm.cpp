// Products with something added to them: addmm, baddbmm, addmv, linear.
//
// The addend is copied into the result, and the product adds itself to it: one pass over memory
// less than product and sum apart.
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/linalg/checks.h"
#include "backend/cpu/linalg/gemm.h"
#include "generated/kernels/products.h"
#include "ops/copy/write_out.h"

namespace uh::kernels {
namespace {

Tensor with_addend(const Dims& sizes, const Tensor& self, const Tensor& a, Reading a_reading,
                   const Tensor& b, Reading b_reading, Dims batch, const Scale& scale,
                   std::string_view op) {
  check(self.dtype() == a.dtype(), op, ": self and mat2 must have the same dtype, but got ",
        info(self.dtype()).title, " and ", info(a.dtype()).title);
  check_broadcasts_to(self.sizes(), sizes, op);
  Tensor out = empty(sizes, a.dtype(), a.device());
  if (out.is_meta()) return out;
  if (scale.beta.to_bool()) copy_elements(out, self);
  multiply(out, a, a_reading, b, b_reading, std::move(batch), &scale);
  record_write(out);
  return out;
}

}  // namespace

Tensor addmm(KeySet, const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  check(mat1.ndim() == 2, "addmm: mat1 must be a matrix, got ", mat1.ndim(), "-D tensor");
  check(mat2.ndim() == 2, "addmm: mat2 must be a matrix, got ", mat2.ndim(), "-D tensor");
  check_inner(mat1.size(0), mat1.size(1), mat2.size(0), mat2.size(1));
  check_product_dtypes(mat1, mat2, "mat1 and mat2");
  return with_addend({mat1.size(0), mat2.size(1)}, self, mat1, Reading::kMatrix, mat2,
                     Reading::kMatrix, {}, {alpha, beta}, "addmm");
}

Tensor baddbmm(KeySet, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
               const Scalar& beta, const Scalar& alpha) {
  check(batch1.ndim() == 3, "baddbmm: batch1 must be a 3D tensor, got sizes ", batch1.sizes());
  check(batch2.ndim() == 3, "baddbmm: batch2 must be a 3D tensor, got sizes ", batch2.sizes());
  check(batch1.size(0) == batch2.size(0) && batch1.size(2) == batch2.size(1),
        "baddbmm: Expected size for first two dimensions of batch2 tensor to be: [", batch1.size(0),
        ", ", batch1.size(2), "] but got: [", batch2.size(0), ", ", batch2.size(1), "].");
  check_product_dtypes(batch1, batch2, "batch1 and batch2");
  return with_addend({batch1.size(0), batch1.size(1), batch2.size(2)}, self, batch1,
                     Reading::kMatrix, batch2, Reading::kMatrix, {batch1.size(0)}, {alpha, beta},
                     "baddbmm");
}

Tensor addmv(KeySet, const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha) {
  check(mat.ndim() == 2 && vec.ndim() == 1 && self.ndim() <= 1,
        "addmv: vector + matrix @ vector expected, got ", self.ndim(), ", ", mat.ndim(), ", ",
        vec.ndim());
  check(mat.size(1) == vec.size(0), "addmv: size mismatch, got input (", printed(self.sizes()),
        "), mat (", mat.size(0), "x", mat.size(1), "), vec (", vec.size(0), ")");
  check_product_dtypes(mat, vec, "mat and vec");
  return with_addend({mat.size(0)}, self, mat, Reading::kMatrix, vec, Reading::kColumn, {},
                     {alpha, beta}, "addmv");
}

Tensor linear(KeySet, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  check(input.ndim() >= 1 && (weight.ndim() == 2 || weight.ndim() == 1),
        "linear: input needs at least one dimension and weight one or two, got ", input.sizes(),
        " and ", weight.sizes());
  check(weight.ndim() == 2 || !bias, "linear: weight must be a matrix when there is a bias, got ",
        weight.sizes());
  const size_t lead = input.sizes().size() - 1;
  const int64_t inner = input.sizes().back();
  const bool to_vector = weight.ndim() == 1;
  check_inner(numel_of(IntSpan(input.sizes().data(), lead)), inner, weight.sizes().back(),
              to_vector ? 1 : weight.size(0));
  check_product_dtypes(input, weight, "mat1 and mat2");
  Dims sizes(IntSpan(input.sizes().data(), lead));
  if (!to_vector) sizes.push_back(weight.size(0));
  if (bias) {
    check(bias.dtype() == input.dtype(),
          "linear: bias and input must have the same dtype, but got ", info(bias.dtype()).title,
          " and ", info(input.dtype()).title);
    check_broadcasts_to(bias.sizes(), sizes, "linear");
  }
  Tensor out = empty(sizes, input.dtype(), input.device());
  if (out.is_meta()) return out;
  if (bias) copy_elements(out, bias);
  // Read as (batch..., rows, in) @ (in, out): a view of the weight with its strides exchanged.
  const Layout turned = to_vector ? Layout{weight.sizes(), weight.strides(), weight.offset()}
                                  : Layout{{weight.size(1), weight.size(0)},
                                           {weight.stride(1), weight.stride(0)},
                                           weight.offset()};
  const Tensor columns = alias(weight, turned);
  const Scale scale{Scalar(1), Scalar(1)};
  const Dims batch(IntSpan(input.sizes().data(), lead > 0 ? lead - 1 : 0));
  multiply(out, input, lead > 0 ? Reading::kMatrix : Reading::kRow, columns,
           to_vector ? Reading::kColumn : Reading::kMatrix, batch, bias ? &scale : nullptr);
  record_write(out);
  return out;
}

}  // namespace uh::kernels
