// Decimal numbers in the format of C's printf and strtod, independent of the locale: a
// program that sets a decimal comma does not affect what scripted code prints or
// reads.
#pragma once

#include <string>
#include <string_view>

namespace uh::jit {

// printf's %.<precision>f, e, g (and F, E, G); `point` is the flag `#`: g keeps trailing zeros, and
// there is always a decimal point. `value` must be finite.
std::string decimal(double value, char type, int precision, bool point = false);

// float() of a valid number: inf or 0 if it is out of double's
// range.
double rounded_double(std::string_view digits);

}  // namespace uh::jit
