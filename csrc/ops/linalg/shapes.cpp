#include "ops/linalg/shapes.h"

#include "ops/linalg/checks.h"

namespace uh::shapes {

Tensor mm(const Tensor& self, const Tensor& mat2) {
  check(self.ndim() == 2, "self must be a matrix, got sizes ", self.sizes());
  check(mat2.ndim() == 2, "mat2 must be a matrix, got sizes ", mat2.sizes());
  check_inner(self.size(0), self.size(1), mat2.size(0), mat2.size(1));
  check_product_dtypes(self, mat2, "m1 and m2");
  return empty(Dims{self.size(0), mat2.size(1)}, self.dtype(), self.device());
}

Tensor bmm(const Tensor& self, const Tensor& mat2) {
  check(self.ndim() == 3, "batch1 must be a 3D tensor, got sizes ", self.sizes());
  check(mat2.ndim() == 3, "batch2 must be a 3D tensor, got sizes ", mat2.sizes());
  check(self.size(0) == mat2.size(0) && self.size(2) == mat2.size(1),
        "Expected size for first two dimensions of batch2 tensor to be: [", self.size(0), ", ",
        self.size(2), "] but got: [", mat2.size(0), ", ", mat2.size(1), "].");
  check_product_dtypes(self, mat2, "batch1 and batch2");
  return empty(Dims{self.size(0), self.size(1), mat2.size(2)}, self.dtype(), self.device());
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  check_kind(self.ndim() > 0, ErrorKind::kIndex,
             "mv: Dimension specified as 0 but tensor has no dimensions");
  check(self.ndim() == 2 && vec.ndim() == 1, "vector + matrix @ vector expected, got ", self.ndim(),
        ", ", vec.ndim(), ": mv takes a matrix and a vector");
  check(self.size(1) == vec.size(0), "size mismatch, got input (", self.size(0), "), mat (",
        self.size(0), "x", self.size(1), "), vec (", vec.size(0), ")");
  check_product_dtypes(self, vec, "mat and vec");
  return empty(Dims{self.size(0)}, self.dtype(), self.device());
}

Tensor dot(const Tensor& self, const Tensor& tensor) {
  check(self.ndim() == 1 && tensor.ndim() == 1, "1D tensors expected, but got ", self.ndim(),
        "D and ", tensor.ndim(), "D tensors");
  check(self.dtype() == tensor.dtype(),
        "dot : expected both vectors to have same dtype, but found ", info(self.dtype()).title,
        " and ", info(tensor.dtype()).title);
  check(self.size(0) == tensor.size(0), "inconsistent tensor size, expected tensor ", self.sizes(),
        " and src ", tensor.sizes(), " to have the same number of elements, but got ", self.size(0),
        " and ", tensor.size(0), " elements respectively");
  check_kind(self.dtype() != DType::kBool, ErrorKind::kNotImplemented,
             "\"dot\" not implemented for 'Bool'");
  return empty(Dims{}, self.dtype(), self.device());
}

Tensor matmul(const Tensor& self, const Tensor& other) {
  const int64_t da = self.ndim(), db = other.ndim();
  check(da > 0 && db > 0, "both arguments to matmul need to be at least 1D, but they are ", da,
        "D and ", db, "D");
  if (da == 1 && db == 1) return dot(self, other);
  if (da == 2 && db == 1) return mv(self, other);
  if (da == 2 && db == 2) return mm(self, other);
  const int64_t m = da == 1 ? 1 : self.size(da - 2), k = self.size(da - 1);
  const int64_t other_k = db == 1 ? other.size(0) : other.size(db - 2),
                n = db == 1 ? 1 : other.size(db - 1);
  check_inner(m, k, other_k, n);
  check_product_dtypes(self, other, "m1 and m2");
  Dims sizes = broadcast_shapes(matrix_batch(self), matrix_batch(other));
  if (da > 1) sizes.push_back(m);
  if (db > 1) sizes.push_back(n);
  Tensor result = empty(sizes, self.dtype(), self.device());
  // PyTorch squeezes the product of a row in place, so its version is 1; see matmul_calls.
  if (da == 1 && db == 2) result.impl()->bump_version(current_call());
  return result;
}

}  // namespace uh::shapes
