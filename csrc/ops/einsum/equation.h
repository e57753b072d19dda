// Parser of einsum equations: "bij,...j->...i".
#pragma once

#include <string_view>
#include <vector>

namespace uh {

// A label is the index of its letter (A to Z, then a to z); kEllipsis is "...".
using Label = int;
inline constexpr Label kLabels = 52;
inline constexpr Label kEllipsis = kLabels;

struct Equation {
  std::vector<std::vector<Label>> inputs;
  std::vector<Label> output;
  bool has_output = false;  // the equation has "->"
};

// Throws for characters other than letters, malformed "..." and arrows, and output labels that are
// repeated or missing in the inputs. `operands`: the expected number of inputs.
Equation parse_equation(std::string_view text, size_t operands);

// Returns the letter of a label, for messages.
char letter_of(Label label);

}  // namespace uh
