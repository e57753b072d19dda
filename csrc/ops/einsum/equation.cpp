#include "ops/einsum/equation.h"

#include <algorithm>

#include "base/error.h"

namespace uh {
namespace {

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
Label label_of(char c) { return c >= 'a' ? c - 'a' + 26 : c - 'A'; }

// Parses the labels of one operand or of the output; `source` names it in messages.
std::vector<Label> parse_labels(std::string_view text, std::string_view source) {
  std::vector<Label> result;
  bool ellipsis = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') {
      check(i + 2 < text.size() && text[i + 1] == '.' && text[i + 2] == '.' && !ellipsis,
            "einsum(): found '.' for ", source,
            " that is not part of any ellipsis, or a second ellipsis: '", text, "'");
      i += 2;
      ellipsis = true;
      result.push_back(kEllipsis);
      continue;
    }
    check(is_letter(c), "einsum(): invalid subscript given at index ", i, " of '", text,
          "', subscripts must be in [a-zA-Z]");
    result.push_back(label_of(c));
  }
  return result;
}

}  // namespace

char letter_of(Label label) {
  return static_cast<char>(label < 26 ? 'A' + label : 'a' + (label - 26));
}

Equation parse_equation(std::string_view text, size_t operands) {
  Equation result;
  const size_t arrow = text.find("->");
  const std::string_view left = text.substr(0, arrow);
  for (size_t start = 0;;) {
    const size_t comma = left.find(',', start);
    result.inputs.push_back(parse_labels(left.substr(start, comma - start), "operand"));
    if (comma == std::string_view::npos) break;
    start = comma + 1;
  }
  check(result.inputs.size() <= operands,
        "einsum(): fewer operands were provided than specified in "
        "the equation: ",
        operands, " for '", text, "'");
  check(result.inputs.size() >= operands,
        "einsum(): more operands were provided than specified in "
        "the equation: ",
        operands, " for '", text, "'");
  if (arrow == std::string_view::npos) return result;
  result.has_output = true;
  result.output = parse_labels(text.substr(arrow + 2), "the output");
  for (size_t i = 0; i < result.output.size(); ++i) {
    const Label label = result.output[i];
    if (label == kEllipsis) continue;
    check(std::find(result.output.begin(), result.output.begin() + static_cast<std::ptrdiff_t>(i),
                    label) == result.output.begin() + static_cast<std::ptrdiff_t>(i),
          "einsum(): output subscript ", letter_of(label), " appears more than once in the output");
    const bool known =
        std::any_of(result.inputs.begin(), result.inputs.end(), [&](const auto& input) {
          return std::find(input.begin(), input.end(), label) != input.end();
        });
    check(known, "einsum(): output subscript ", letter_of(label),
          " does not appear in the equation for any input operand");
  }
  return result;
}

}  // namespace uh
