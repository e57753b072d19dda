// The text of einsum, taken apart: "bij,...j->...i".
#pragma once

#include <string_view>
#include <vector>

namespace uh {

// A label is the number of its letter (A to Z, then a to z); kEllipsis stands for "...".
using Label = int;
inline constexpr Label kLabels = 52;
inline constexpr Label kEllipsis = kLabels;

struct Equation {
  std::vector<std::vector<Label>> inputs;
  std::vector<Label> output;
  bool has_output = false;  // "->" was given
};

// Throws for characters other than letters, broken "..." and arrows, and labels that appear
// twice or out of nowhere in the output. `operands`: how many inputs there must be.
Equation parse_equation(std::string_view text, size_t operands);

// The letter of a label, for messages.
char letter_of(Label label);

}  // namespace uh
