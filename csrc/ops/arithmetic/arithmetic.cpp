// The shape rule of arithmetic.yaml, and the operators that call others.
#include "generated/kernels/arithmetic.h"
#include "generated/ops/arithmetic.h"
#include "generated/ops/copy.h"
#include "generated/ops/rounding.h"
#include "ops/arithmetic/shapes.h"

namespace uh::shapes {

std::tuple<Tensor, Tensor> frexp(const Tensor& self) {
  check(is_floating(self.dtype()), "frexp: only floating-point dtypes are supported, got ",
        info(self.dtype()).title);
  return {empty_like(self, self.dtype()), empty_like(self, DType::kInt32)};
}

}  // namespace uh::shapes

namespace uh::kernels {

namespace {

void check_rounding_mode(const std::string& mode) {
  check(mode == "floor" || mode == "trunc",
        "div: expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", mode,
        "'");
}

}  // namespace

void div_rounded_inplace(KeySet, const Tensor& self, const Operand& other,
                         const std::optional<std::string>& rounding_mode) {
  if (!rounding_mode) return ops::div_(self, other);
  check_rounding_mode(*rounding_mode);
  *rounding_mode == "floor" ? ops::_div_floor_(self, other) : ops::_div_trunc_(self, other);
}

Tensor div_rounded(KeySet, const Operand& self, const Operand& other,
                   const std::optional<std::string>& rounding_mode) {
  if (!rounding_mode) return ops::div(self, other);
  check_rounding_mode(*rounding_mode);
  return *rounding_mode == "floor" ? ops::_div_floor(self, other) : ops::_div_trunc(self, other);
}

namespace {

bool is_complex_operand(const Operand& o) {
  return o.is_number() ? o.number.is_complex() : is_complex(o.tensor.dtype());
}

Operand in_double(const Operand& o, DType dtype) {
  if (!o.is_number())
    return ops::_to_copy(o.tensor, dtype, Device::kUndefined, MemoryFormat::kUndefined);
  return is_complex(dtype) ? Scalar(o.number.to_complex()) : Scalar(o.number.to_double());
}

}  // namespace

Tensor float_power(KeySet, const Operand& self, const Operand& exponent) {
  check_kind(!self.is_number() || !exponent.is_number(), ErrorKind::kType,
             "float_power: one of the operands must be a Tensor, got only numbers");
  const bool complex = is_complex_operand(self) || is_complex_operand(exponent);
  const DType dtype = complex ? DType::kComplex128 : DType::kFloat64;
  return ops::pow(in_double(self, dtype), in_double(exponent, dtype));
}

void float_power_inplace(KeySet, const Tensor& self, const Operand& exponent) {
  const bool complex = is_complex_operand(self) || is_complex_operand(exponent);
  const DType dtype = complex ? DType::kComplex128 : DType::kFloat64;
  check(self.dtype() == dtype, "float_power_: the base has dtype ", info(self.dtype()).title,
        " but the operation's result requires dtype ", info(dtype).title);
  ops::pow_(self, in_double(exponent, dtype));
}

Tensor positive(KeySet, const Tensor& self) {
  check(self.dtype() != DType::kBool,
        "positive: the `+` operator on a bool tensor is not supported");
  return self;
}

Tensor square(KeySet, const Tensor& self) { return ops::pow(self, Scalar(2)); }
void square_inplace(KeySet, const Tensor& self) { ops::pow_(self, Scalar(2)); }

// Scales by integral exponents in the dtype of self, in two steps: 2 ** other may overflow where
// the result does not.
Tensor ldexp(KeySet, const Tensor& self, const Tensor& other) {
  if (is_floating(self.dtype()) && !is_inexact(other.dtype())) {
    check_kind(other.dtype() != DType::kBool, ErrorKind::kNotImplemented,
               "\"ldexp_cpu\" not implemented for 'Bool'");
    const auto in = [](const Tensor& t, DType dtype) {
      return ops::_to_copy(t, dtype, Device::kUndefined, MemoryFormat::kUndefined);
    };
    const DType wide = is_reduced_floating(self.dtype()) ? DType::kFloat32 : self.dtype();
    const Tensor exponent = in(other, wide);
    const Tensor half = ops::floor(ops::mul(exponent, Scalar(0.5)));
    const Tensor remainder = ops::sub(exponent, half, Scalar(1));
    const Tensor once = ops::mul(in(self, wide), ops::pow(Scalar(2.0), half));
    return in(ops::mul(once, ops::pow(Scalar(2.0), remainder)), self.dtype());
  }
  return ops::mul(self, ops::pow(Scalar(2.0), other));
}

}  // namespace uh::kernels
