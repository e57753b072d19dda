#include "ops/pointwise_checks.h"

#include "ops/copy/element.h"

namespace uh::checks {

UH_CHECK(ordered) {
  (void)inputs, (void)params;
  check_kind(!is_complex(dtype), ErrorKind::kNotImplemented, "\"", op.name,
             "\" not implemented for '", info(dtype).title, "'");
}

UH_CHECK(limit) {
  ordered(op, inputs, params, dtype);
  fitting(op, inputs, params, dtype);
}

UH_CHECK(fitting) {
  (void)op;
  for (const Input& o : inputs)
    if (o.is_number()) check_fits(o.number, dtype);
  for (size_t i = 0; i < Params::kMaxCount; ++i)
    if (params.has(i)) check_fits(*params[i], dtype);
}

UH_CHECK(factor) {
  fitting(op, inputs, params, is_reduced_floating(dtype) ? DType::kFloat32 : dtype);
}

UH_CHECK(alpha) {
  (void)inputs;
  if (!params.has(0)) return;
  const Scalar& factor = *params[0];
  if (factor.kind() == Scalar::Kind::kInt) {
    const int64_t value = factor.to_int();
    if (value < 0 || value > 127) check_fits(factor, dtype);
    return;
  }
  check(factor.kind() != Scalar::Kind::kBool || dtype == DType::kBool, op.name,
        ": a Boolean alpha is only supported for Boolean results, not for ", info(dtype).title);
  check(!factor.is_float() || is_inexact(dtype), op.name,
        ": for integral input tensors, argument alpha must not be a floating point number, got ",
        factor);
  check(!factor.is_complex() || is_complex(dtype), op.name,
        ": for non-complex input tensors, argument alpha must not be a complex number, got ",
        factor);
  check_fits(factor, dtype);
}

// A bool can be the integer 1 or 255, so its subtraction is ambiguous.
UH_CHECK(subtraction) {
  for (const Input& o : inputs) {
    const bool is_bool =
        o.is_number() ? o.number.kind() == Scalar::Kind::kBool : o.tensor.dtype() == DType::kBool;
    check(!is_bool, op.name, ": subtraction, the `-` operator, with a bool ",
          o.is_number() ? "number" : "tensor",
          " is not supported; use the `^` or logical_xor() operator, or `~` to invert a mask");
  }
  alpha(op, inputs, params, dtype);
}

UH_CHECK(negation) {
  (void)inputs, (void)params;
  check(dtype != DType::kBool, op.name,
        ": negation, the `-` operator, on a bool tensor is not supported; use the `~` or "
        "logical_not() operator instead");
}

UH_CHECK(integer_power) {
  (void)params;
  const Input& exponent = inputs[1];
  // A bool is an exponent only as a number: it copies, or fills with True.
  check_kind(dtype != DType::kBool || (exponent.is_number() && !inputs[0].is_number()),
             ErrorKind::kNotImplemented, "\"", op.name, "\" not implemented for 'Bool'");
  if (!exponent.is_number()) return;
  if (!is_inexact(dtype) || is_reduced_floating(dtype)) check_fits(exponent.number, dtype);
  if (is_inexact(dtype)) return;
  check(inputs[0].is_number() || exponent.number.to_int() >= 0, op.name,
        ": integers to negative integer powers are not allowed, got the exponent ",
        exponent.number);
}

UH_CHECK(same_dtype) {
  (void)params, (void)dtype;
  const DType first = inputs[0].tensor.dtype();
  for (const Input& o : inputs.subspan(1)) {
    check(o.is_number() || o.tensor.dtype() == first, op.name, ": expected dtype ",
          info(first).title, " for every tensor, got ", info(o.tensor.dtype()).title);
  }
}

UH_CHECK(interpolation) {
  const Input& weight = inputs[2];
  same_dtype(op, weight.tensor.ndim() == 0 ? inputs.first(2) : inputs, params, dtype);
}

UH_CHECK(fraction) {
  (void)params, (void)dtype;
  check(is_inexact(inputs[1].tensor.dtype()) || is_inexact(inputs[2].tensor.dtype()), op.name,
        ": the quotient of two integer tensors (", info(inputs[1].tensor.dtype()).title, " and ",
        info(inputs[2].tensor.dtype()).title, ") is not supported; make one of them floating");
}

UH_CHECK(limits) {
  check(params.has(0) || params.has(1), op.name,
        ": at least one of 'min' or 'max' must not be None");
  limit(op, inputs, params, dtype);
}

UH_CHECK(tolerance) {
  same_dtype(op, inputs, params, dtype);
  for (size_t i = 0; i < 2; ++i) {
    check(!params.has(i) || params[i]->to_double() >= 0, op.name, ": ", i == 0 ? "rtol" : "atol",
          " must be greater than or equal to zero, but got ", *params[i]);
  }
}

UH_CHECK(signed_limits) {
  check_kind(!is_complex(dtype), ErrorKind::kNotImplemented,
             "clamp is not supported for complex types");
  check(dtype != DType::kUInt8 || (params[0]->to_double() >= 0 && params[1]->to_double() >= 0),
        op.name, ": cannot limit an unsigned type to negative limits [", *params[0], ", ",
        *params[1], "]");
  fitting(op, inputs, params, dtype);
}

UH_CHECK(shrink) {
  check(params[0]->to_double() >= 0, op.name, ": lambd must be greater or equal to 0, but found ",
        *params[0], ".");
  fitting(op, inputs, params, dtype);
}

}  // namespace uh::checks
