// Python's arithmetic of integers and floats, shared by constant folding and loops.
//
// Integers wrap at 64 bits, as in PyTorch. Division and remainder round towards minus infinity, and
// a division by zero is a ZeroDivisionError, as in Python.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>

#include "base/complex.h"
#include "base/error.h"

namespace uh::jit::python {

using Complex = std::complex<double>;
inline Complex wide(Complex128 z) { return {z.re, z.im}; }
inline Complex128 narrow(Complex z) { return {z.real(), z.imag()}; }

[[noreturn]] inline void zero_division(const char* reason) {
  fail(ErrorKind::kRuntime, "ZeroDivisionError: ", reason);
}

inline int64_t add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
inline int64_t neg(int64_t a) { return sub(0, a); }

inline int64_t mod(int64_t a, int64_t b) {
  if (b == 0) zero_division("integer modulo by zero");
  if (b == -1) return 0;  // INT64_MIN % -1 traps
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
inline int64_t floordiv(int64_t a, int64_t b) {
  if (b == 0) zero_division("integer division or modulo by zero");
  if (b == -1) return neg(a);
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
// std::fmod, exact, in a tenth of the time unless the quotient is huge.
double fast_fmod(double a, double b);
inline double mod(double a, double b, const char* reason = "float modulo") {
  if (b == 0) zero_division(reason);
  const double left = fast_fmod(a, b);
  if (left == 0) return std::copysign(0.0, b);
  return (left < 0) != (b < 0) ? left + b : left;
}
inline double floordiv(double a, double b, const char* reason = "float floor division by zero") {
  const double left = mod(a, b, reason);
  // An integer up to rounding, as the remainder is exact.
  const double quotient = (a - left) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}
inline double div(double a, double b, const char* reason = "float division by zero") {
  if (b == 0) zero_division(reason);
  return a / b;
}
inline Complex128 div(Complex128 a, Complex128 b) {
  if (b.re == 0 && b.im == 0) zero_division("complex division by zero");
  return narrow(wide(a) / wide(b));
}
inline double power(double a, double b) {
  if (a == 0 && b < 0) zero_division("0.0 cannot be raised to a negative power");
  return std::pow(a, b);
}
inline int64_t power(int64_t a, int64_t b) {
  if (b < 0) fail(ErrorKind::kValue, "pow: an int to the power of ", b, " is not an int");
  int64_t result = 1;
  for (; b; b >>= 1, a = mul(a, a))
    if (b & 1) result = mul(result, a);
  return result;
}
inline Complex128 power(Complex128 a, Complex128 b) {
  if (a.re == 0 && a.im == 0 && (b.re < 0 || b.im != 0))
    zero_division("0.0 to a negative or complex power");
  if (b.re == 0 && b.im == 0) return {1.0, 0.0};
  return narrow(std::pow(wide(a), wide(b)));
}

// Non-negative, except for INT64_MIN, whose negation overflows.
int64_t gcd(int64_t a, int64_t b);

inline int64_t shift_left(int64_t a, int64_t n) {
  if (n < 0) fail(ErrorKind::kValue, "negative shift count");
  return n > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << n);
}
inline int64_t shift_right(int64_t a, int64_t n) {
  if (n < 0) fail(ErrorKind::kValue, "negative shift count");
  return n > 63 ? (a < 0 ? -1 : 0) : a >> n;
}

// Throws for values for which a C cast is undefined.
inline int64_t to_int(double value) {
  if (std::isnan(value)) fail(ErrorKind::kValue, "cannot convert float NaN to integer");
  if (std::isinf(value))
    fail(ErrorKind::kRuntime, "OverflowError: cannot convert float infinity to integer");
  if (!(value > -9223372036854775809.0 && value < 9223372036854775808.0))
    fail(ErrorKind::kRuntime, "OverflowError: ", value, " does not fit an int of 64 bits");
  return static_cast<int64_t>(value);
}

}  // namespace uh::jit::python
