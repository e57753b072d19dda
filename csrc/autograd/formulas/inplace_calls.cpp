// In-place operators that call another one if gradients are required: that operator's Node is the
// history, and it sees the version that it writes.
#include "autograd/autograd_meta.h"
#include "generated/kernels/arithmetic.h"
#include "generated/kernels/reshaping.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/reshaping.h"

namespace uh::kernels {

void square_by_power(KeySet keys, const Tensor& self);
void float_power_by_power(KeySet keys, const Tensor& self, const Operand& exponent);
void div_by_rounded(KeySet keys, const Tensor& self, const Operand& other,
                    const std::optional<std::string>& rounding_mode);
void fill_diagonal_of_view(KeySet keys, const Tensor& self, const Scalar& fill_value, bool wrap);

void square_by_power(KeySet keys, const Tensor& self) { square_inplace(keys, self); }

void float_power_by_power(KeySet keys, const Tensor& self, const Operand& exponent) {
  float_power_inplace(keys, self, exponent);
}

void div_by_rounded(KeySet keys, const Tensor& self, const Operand& other,
                    const std::optional<std::string>& rounding_mode) {
  div_rounded_inplace(keys, self, other, rounding_mode);
}

// As in PyTorch, the graph contains a view of the diagonal, which is filled.
void fill_diagonal_of_view(KeySet keys, const Tensor& self, const Scalar& fill_value, bool wrap) {
  if (!autograd::requires_grad(self))
    return ops::fill_diagonal__op.redispatch(keys.below(Key::kAutograd), self, fill_value, wrap);
  fill_diagonal_(keys, self, fill_value, wrap);
}

}  // namespace uh::kernels
