// The kernels of linalg.yaml; gemm.h does the arithmetic.
#include "generated/kernels/linalg.h"
#include "backend/cpu/copy/elements.h"
#include "backend/cpu/linalg/gemm.h"
#include "ops/linalg/checks.h"

namespace uh::kernels {

void mm(const Tensor& self, const Tensor& mat2, const Tensor& result) {
  multiply(result, self, Reading::kMatrix, mat2, Reading::kMatrix, {});
}

void bmm(const Tensor& self, const Tensor& mat2, const Tensor& result) {
  multiply(result, self, Reading::kMatrix, mat2, Reading::kMatrix, {self.size(0)});
}

void mv(const Tensor& self, const Tensor& vec, const Tensor& result) {
  multiply(result, self, Reading::kMatrix, vec, Reading::kColumn, {});
}

void dot(const Tensor& self, const Tensor& tensor, const Tensor& result) {
  multiply(result, self, Reading::kRow, tensor, Reading::kColumn, {});
}

void matmul(const Tensor& self, const Tensor& other, const Tensor& result) {
  multiply(result, self, self.ndim() == 1 ? Reading::kRow : Reading::kMatrix, other,
           other.ndim() == 1 ? Reading::kColumn : Reading::kMatrix,
           broadcast_shapes(matrix_batch(self), matrix_batch(other)));
}

}  // namespace uh::kernels
