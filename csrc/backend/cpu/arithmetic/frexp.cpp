// The kernel of arithmetic.yaml that is not an expression.
#include <cmath>

#include "backend/cpu/copy/elements.h"
#include "generated/kernels/arithmetic.h"

namespace uh::kernels {

void frexp(const Tensor& self, const Tensor& mantissa, const Tensor& exponent) {
  const Tensor wide = as_contiguous(self, DType::kFloat64);
  const Tensor parts = empty(self.sizes(), DType::kFloat64);
  const Tensor powers = empty(self.sizes(), DType::kInt32);
  const auto* from = wide.data_as<double>();
  auto* part = parts.data_as<double>();
  auto* power = powers.data_as<int32_t>();
  for (int64_t i = 0; i < self.numel(); ++i) {
    int scale = 0;
    part[i] = std::frexp(from[i], &scale);
    power[i] = std::isfinite(from[i]) ? scale : 0;
  }
  copy_elements(mantissa, parts);
  copy_elements(exponent, powers);
}

}  // namespace uh::kernels
