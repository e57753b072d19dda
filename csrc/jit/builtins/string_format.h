// str() and repr() of values as in Python, and its format specifications.
#pragma once

#include <string>
#include <string_view>

#include "dispatch/ivalue.h"

namespace uh::jit {

// repr(float): the shortest string that reads back as the same float.
std::string float_text(double value);
// format(value, spec): "[[fill]align][sign][#][0][width][,][.precision][type]".
std::string formatted(const IValue& value, std::string_view spec);

}  // namespace uh::jit
