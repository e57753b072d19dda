// The shape rules and composites of sort.yaml.
#include "generated/kernels/sort.h"
#include "generated/ops/sort.h"
#include "ops/sort/shapes.h"

namespace uh::shapes {
namespace {

void check_ordered(const Tensor& self, int64_t dim, std::string_view op) {
  wrap_dim(dim, self.ndim(), op);
  check(!is_complex(self.dtype()), op, ": Sort does not support complex dtypes on CPU");
}

}  // namespace

std::tuple<Tensor, Tensor> sorted(const Tensor& self, int64_t dim) {
  check_ordered(self, dim, "sort");
  return {empty_like(self, self.dtype()), empty_like(self, DType::kInt64)};
}

Tensor argsort(const Tensor& self, int64_t dim) {
  check_ordered(self, dim, "argsort");
  return empty_like(self, DType::kInt64);
}

// A 0-d tensor has one element, even if k is 0.
std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim) {
  const int64_t d = wrap_dim(dim, self.ndim(), "topk");
  check(!is_complex(self.dtype()) && self.dtype() != DType::kBool, "topk does not support ",
        name(self.dtype()), " dtypes on CPU");
  const int64_t n = self.ndim() ? self.size(d) : 1;
  check(k >= 0 && k <= n, "topk: selected index k out of range: ", k,
        " is not between 0 and the size ", n, " of dimension ", d);
  Dims sizes = self.sizes();
  if (self.ndim()) sizes[static_cast<size_t>(d)] = k;
  return {empty(sizes, self.dtype(), self.device()), empty(sizes, DType::kInt64, self.device())};
}

}  // namespace uh::shapes

namespace uh::kernels {

Tensor msort(KeySet, const Tensor& self) { return std::get<0>(ops::sort(self, 0, false)); }

}  // namespace uh::kernels
