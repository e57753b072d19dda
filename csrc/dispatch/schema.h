// Schema: the signature of an operator, parsed from its text.
//
// The text is the truth: `add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`.
// Everything else (argument names, kinds, defaults, which arguments are written) is read from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace uh {

struct Argument {
  std::string type;  // "Tensor", "int[]", "Scalar", "Tensor?", ...
  std::string name;
  std::string fallback;  // text of the default value, "" when required
  bool has_default = false;
  bool keyword_only = false;
  bool written = false;  // marked (a!): the operator writes it
  bool viewed = false;   // marked (a): a result is a view of it
};

struct Schema {
  std::string text;
  std::string name;      // "add"
  std::string overload;  // "Tensor", or ""
  std::vector<Argument> arguments;
  std::vector<Argument> results;

  std::string full_name() const { return overload.empty() ? name : name + "." + overload; }
  bool writes() const;
  bool views() const;
};

// Throws a RuntimeError that quotes the place where the text stops making sense.
Schema parse_schema(std::string_view text);

}  // namespace uh
