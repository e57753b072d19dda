// Checks of pointwise operators beyond dtypes that have no loop.
//
// A yaml entry names one with `check:`. It gets the operands of the call and the compute dtype, and
// runs before anything is allocated.
#pragma once

#include "ops/pointwise.h"

namespace uh::checks {

#define UH_CHECK(name)                                                                             \
  void name(const PointwiseOp& op, std::span<const Input> inputs, const Params& params, DType dtype)

UH_CHECK(ordered);        // relu, floor: no complex numbers
UH_CHECK(limit);          // clamp_min: the same, and a limit representable in the dtype
UH_CHECK(fitting);        // threshold, where: numbers representable in the dtype
UH_CHECK(factor);         // addcmul: a number representable in the dtype that is computed in
UH_CHECK(alpha);          // add: a bool, fractional or complex factor must fit the dtype
UH_CHECK(subtraction);    // the same, and no bool operand
UH_CHECK(negation);       // no bool
UH_CHECK(integer_power);  // no integer to a negative integer power
UH_CHECK(same_dtype);     // lerp, heaviside: tensors of one dtype
UH_CHECK(interpolation);  // lerp: a weight without dimensions may have another dtype
UH_CHECK(fraction);       // addcdiv: no quotient of integers
UH_CHECK(limits);         // clamp: at least one limit, each representable in the dtype
UH_CHECK(tolerance);      // isclose: tensors of one dtype, non-negative tolerances
UH_CHECK(signed_limits);  // hardtanh: no negative limits for unsigned elements
UH_CHECK(shrink);         // softshrink: no negative lambda

}  // namespace uh::checks
