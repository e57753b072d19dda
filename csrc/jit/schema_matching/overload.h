// Overload: one of several PyTorch overloads that the engine declares as a single operator.
//
// PyTorch has `sum(self, *, dtype)` and `sum.dim_IntList(self, dim, keepdim, *, dtype)`, and a
// layout argument in all factories; the engine has one `sum` and no layouts. Graphs are
// PyTorch's, so their nodes call an Overload, which calls the combined operator. The operator's
// yaml entry declares them (`schema`, `overloads`). Invariant: every argument of an Overload is one
// of the combined operator with the same name, or has no meaning here (`layout`, `generator`...)
// and is rejected unless it is the default. If violated: a program silently computes something
// else.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "dispatch/operator.h"

namespace uh::jit {

struct OverloadRow {
  const char* combined;          // "sum"
  const FunctionSchema& schema;  // of "sum.dim_IntList(Tensor self, ...) -> Tensor"
  std::vector<std::pair<const char*, int64_t>>
      defaults;  // arguments that it lacks, without a default
};
// Generated from the yaml (codegen/overloads.py).
const std::vector<OverloadRow>& overload_table();

// Alternative names of operators: "aten::absolute" is "aten::abs". Generated from `aliases` and
// `script_aliases` of the yaml (codegen/overloads.py).
using OperatorAliases = std::map<std::string_view, std::string_view>;
const OperatorAliases& operator_aliases();

class Overload final : public OperatorInfo {
 public:
  Overload(const OperatorInfo& combined, const OverloadRow& row);

  const OperatorInfo& combined() const { return combined_; }
  // The position of the i-th argument in the combined operator; nullopt if it has no meaning
  // here.
  std::optional<size_t> position(size_t i) const;
  // Converts the combined operator's arguments to this overload's; nullopt if it cannot express
  // them. Further arguments get PyTorch's Python defaults; `result` is the device of the result.
  std::optional<Stack> arguments_from(const Stack& arguments, Device result) const;

  void call_boxed(Stack& stack) override;

 private:
  struct Part {
    std::optional<size_t> from;  // index of the Overload's argument
    bool listed = false;         // an int here, an int[] in the combined operator
    IValue otherwise;
  };
  void refuse(const Argument& argument, const IValue& value) const;

  const OperatorInfo& combined_;
  std::vector<Part> parts_;  // one per argument of the combined operator
  bool first_ = true;        // the parts are exactly the combined operator's first arguments
};

// The overloads of a name ("aten::sum"), in the order in which they are tried; may be empty.
const std::vector<const Overload*>& overloads_named(const std::string& qualified_name);
// The overloads of an operator; empty if PyTorch has the same operator.
const std::vector<const Overload*>& overloads_of(const OperatorInfo& op);
// The combined operator of an Overload; any other operator unchanged.
const OperatorInfo& combined(const OperatorInfo& op);
// The position of the i-th argument in the combined operator.
std::optional<size_t> position_in_combined(const OperatorInfo& op, size_t i);

}  // namespace uh::jit
