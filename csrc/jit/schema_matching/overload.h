// Overload: one of PyTorch's overloads of an operator that the engine declares as one.
//
// What: PyTorch has `sum(self, *, dtype)` and `sum.dim_IntList(self, dim, keepdim, *, dtype)`, and
// says a layout to everything that makes tensors; the engine has one `sum` and no layouts. Graphs
// are PyTorch's, so their nodes call an Overload, which calls the whole operator. The yaml of the
// operator lists them (`overloads`).
// Invariant: what an Overload takes is an argument of the whole operator of that name, or means
// nothing here (`layout`, `generator`...) and is refused where it asks for something. If violated:
// a program runs, and not what it says.
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

// The operator that a program means by another name: "aten::absolute" is "aten::abs". Generated
// from `aliases` and `script_aliases` of the yaml (codegen/overloads.py).
using OperatorAliases = std::map<std::string_view, std::string_view>;
const OperatorAliases& operator_aliases();

class Overload final : public OperatorInfo {
 public:
  Overload(const OperatorInfo& combined, const OverloadRow& row);

  const OperatorInfo& combined() const { return combined_; }
  // The position of the i-th argument in the combined operator; nothing for one without a meaning
  // here.
  std::optional<size_t> position(size_t i) const;
  // The same call: of these arguments of the whole operator. Nothing where it cannot say them. What
  // it has beyond them is as PyTorch's Python gives it, `made` is where the result lies.
  std::optional<Stack> arguments_from(const Stack& arguments, Device result) const;

  void call_boxed(Stack& stack) override;

 private:
  struct Part {
    std::optional<size_t> from;  // an argument of the Overload
    bool listed = false;         // an int there, an int[] here
    IValue otherwise;
  };
  void refuse(const Argument& argument, const IValue& value) const;

  const OperatorInfo& combined_;
  std::vector<Part> parts_;  // one per argument of the whole operator
  bool first_ = true;        // the parts are its first arguments, as they are
};

// Those of a name ("aten::sum"), in the order in which they are tried; empty when there are none.
const std::vector<const Overload*>& overloads_named(const std::string& qualified_name);
// Those of an operator; empty where it is PyTorch's own.
const std::vector<const Overload*>& overloads_of(const OperatorInfo& op);
// The operator, or that of which it is an Overload.
const OperatorInfo& combined(const OperatorInfo& op);
// The position of the i-th argument in the combined operator.
std::optional<size_t> position_in_combined(const OperatorInfo& op, size_t i);

}  // namespace uh::jit
