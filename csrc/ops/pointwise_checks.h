// Checks of pointwise operators beyond dtypes without a loop.
//
// An entry names one of these with `check:`; it sees the operands as they were given and the dtype
// that the loop would compute in, and runs before anything is allocated.
#pragma once

#include "ops/pointwise.h"

namespace uh::checks {

#define UH_CHECK(name)                                                                             \
  void name(const PointwiseOp& op, std::span<const Input> inputs, const Params& params, DType dtype)

UH_CHECK(ordered);        // relu, floor: complex numbers, whatever the tensors' memory is
UH_CHECK(limit);          // clamp_min: the same, and a limit that the dtype cannot hold
UH_CHECK(fitting);        // threshold, where: numbers that an element of the dtype cannot hold
UH_CHECK(alpha);          // add: a bool, fractional or complex factor has to fit the dtype
UH_CHECK(subtraction);    // the same, and no bool operand
UH_CHECK(integer_power);  // an integer to the power of a negative number
UH_CHECK(same_dtype);     // lerp, heaviside: tensors of one dtype
UH_CHECK(fraction);       // addcdiv: a quotient of integers
UH_CHECK(limits);         // clamp: neither limit given, or one that the dtype cannot hold
UH_CHECK(tolerance);      // isclose: tensors of one dtype, tolerances that are not negative
UH_CHECK(signed_limits);  // hardtanh: limits below zero for unsigned elements
UH_CHECK(shrink);         // softshrink: a width below zero

}  // namespace uh::checks
