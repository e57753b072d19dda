// The shape rules and composites of moments.yaml.
#include "generated/kernels/moments.h"
#include "generated/ops/moments.h"
#include "ops/moments/shapes.h"

namespace uh::shapes {

Tensor spread(std::string_view op, const Tensor& self, const std::optional<Dims>& dim,
              bool keepdim) {
  check(is_inexact(self.dtype()), op, "(): only support floating point and complex dtypes, got ",
        info(self.dtype()).title);
  return reduced(op, self, dim, keepdim, to_real(self.dtype()));
}

std::tuple<Tensor, Tensor> spread_and_mean(std::string_view op, const Tensor& self,
                                           const std::optional<Dims>& dim, bool keepdim) {
  const Tensor first = spread(op, self, dim, keepdim);
  return {first, empty_like(first, self.dtype())};
}

}  // namespace uh::shapes

namespace uh::kernels {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

std::optional<Scalar> correction_of(bool unbiased) { return Scalar(unbiased ? 1 : 0); }

}  // namespace

Tensor var_all(KeySet, const Tensor& self, bool unbiased) {
  return ops::var_correction(self, std::nullopt, correction_of(unbiased), false);
}
Tensor std_all(KeySet, const Tensor& self, bool unbiased) {
  return ops::standard_deviation_correction(self, std::nullopt, correction_of(unbiased), false);
}
Pair var_mean(KeySet, const Tensor& self, bool unbiased) {
  return ops::var_mean_correction(self, std::nullopt, correction_of(unbiased), false);
}
Pair std_mean(KeySet, const Tensor& self, bool unbiased) {
  return ops::std_mean_correction(self, std::nullopt, correction_of(unbiased), false);
}

Tensor var_dim(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool unbiased,
               bool keepdim) {
  return ops::var_correction(self, dim, correction_of(unbiased), keepdim);
}
Tensor std_dim(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool unbiased,
               bool keepdim) {
  return ops::standard_deviation_correction(self, dim, correction_of(unbiased), keepdim);
}
Pair var_mean_dim(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool unbiased,
                  bool keepdim) {
  return ops::var_mean_correction(self, dim, correction_of(unbiased), keepdim);
}
Pair std_mean_dim(KeySet, const Tensor& self, const std::optional<Dims>& dim, bool unbiased,
                  bool keepdim) {
  return ops::std_mean_correction(self, dim, correction_of(unbiased), keepdim);
}

}  // namespace uh::kernels
