// Decimal numbers as C's printf writes them and strtod reads them, the same in every locale: a
// program that sets one with a decimal comma changes neither what scripted code prints nor what it
// reads.
#pragma once

#include <string>
#include <string_view>

namespace uh::jit {

// printf's %.<precision>f, e, g (and F, E, G); with `point`, its `#`: g keeps its zeros, and there
// is a decimal point in any case. `value` is finite.
std::string decimal(double value, char type, int precision, bool point = false);

// float() of digits that are known to be a number: inf or 0 where no double is that large
// or so small.
double rounded_double(std::string_view digits);

}  // namespace uh::jit
