// The shape rules of scan.yaml, and its out= forms.
#include "generated/kernels/scan.h"
#include "generated/ops/scan.h"
#include "ops/copy/write_out.h"
#include "ops/overlap.h"
#include "ops/scan/shapes.h"

namespace uh::shapes {

Tensor scanned(std::string_view op, const Tensor& self, int64_t dim, DType dtype) {
  wrap_dim(dim, self.ndim(), op);
  check_kind(dtype != DType::kBool || self.ndim() == 0 || self.numel() == 0,
             ErrorKind::kNotImplemented, "\"", op, "_out_cpu\" not implemented for 'Bool'");
  return empty(self.sizes(), dtype, self.device());
}

Tensor logcumsumexp(const Tensor& self, int64_t dim) {
  check_kind(is_inexact(self.dtype()), ErrorKind::kNotImplemented,
             "\"logcumsumexp_out_cpu\" not implemented for '", info(self.dtype()).title, "'");
  return scanned("logcumsumexp", self, dim, self.dtype());
}

std::tuple<Tensor, Tensor> running_extreme(std::string_view op, const Tensor& self, int64_t dim) {
  // PyTorch checks neither dim nor dtype if there is nothing to compare: no elements, or a 0-d
  // tensor.
  if (self.numel() > 0) wrap_dim(dim, self.ndim(), op);
  const bool compares = self.numel() > 0 && self.ndim() > 0;
  check_kind(!compares || !is_complex(self.dtype()), ErrorKind::kNotImplemented, "\"", op,
             "_cpu\" not implemented for '", info(self.dtype()).title, "'");
  return {empty(self.sizes(), self.dtype(), self.device()),
          empty(self.sizes(), DType::kInt64, self.device())};
}

}  // namespace uh::shapes

namespace uh::kernels {

// Without a dtype argument, computes in the dtype of `out`.
void cumsum_out(KeySet, const Tensor& self, int64_t dim, DType dtype, const Tensor& out) {
  check_out_overlap(out, self.sizes(), self, false, "cumsum");
  write_exact_out(out, ops::cumsum(self, dim, or_else(dtype, out.dtype())), "cumsum");
}
void cumprod_out(KeySet, const Tensor& self, int64_t dim, DType dtype, const Tensor& out) {
  check_out_overlap(out, self.sizes(), self, false, "cumprod");
  write_exact_out(out, ops::cumprod(self, dim, or_else(dtype, out.dtype())), "cumprod");
}

void cumsum_inplace(KeySet keys, const Tensor& self, int64_t dim, DType dtype) {
  cumsum_out(keys, self, dim, dtype, self);
}
void cumprod_inplace(KeySet keys, const Tensor& self, int64_t dim, DType dtype) {
  cumprod_out(keys, self, dim, dtype, self);
}

}  // namespace uh::kernels
