// SchemaMatch: matches the arguments of a call against one operator, and inserts the call.
//
// builtin_calls.h tries a SchemaMatch per candidate. It plans the input for each parameter:
// the value, a conversion of it, a list of several, a default. Only emit() changes the
// graph.
#pragma once

#include <string>
#include <vector>

#include "jit/ir/graph.h"
#include "jit/schema_matching/builtin_calls.h"
#include "jit/schema_matching/signature.h"

namespace uh::jit {

class SchemaMatch {
 public:
  SchemaMatch(const OperatorInfo& op, const std::vector<Value*>& args,
              const std::vector<NamedValue>& kwargs, bool conversions);

  bool ok() const { return reason_.empty(); }
  const std::string& reason() const { return reason_; }  // in PyTorch's words
  Node* emit(Graph& graph) const;

 private:
  struct Item {
    Value* value;
    const char* conversion = nullptr;  // "aten::Int", applied first
  };
  enum class ConversionKind : int8_t { kValue, kList, kFromTuple, kEmptyList, kDefault };
  struct Plan {
    ConversionKind conversion_kind = ConversionKind::kValue;
    std::vector<Item> items;
    TypeRef type;  // element type of a new list
    const Parameter* parameter = nullptr;
  };

  void plan_all(const std::vector<Value*>& args, const std::vector<NamedValue>& kwargs);
  bool plan(const Parameter& parameter, Value* value);
  bool plan_list(const Parameter& parameter, const std::vector<Value*>& values);
  bool takes_rest(size_t i, const std::vector<Value*>& args) const;
  bool convert(const TypeRef& expected, const Parameter& parameter, Item& item) const;
  bool refuse(const Parameter& parameter, const TypeRef& expected, const Value* value);
  bool some_tensor() const;
  Value* emit(Graph& graph, const Item& item) const;
  Value* emit(Graph& graph, const Plan& plan) const;

  const OperatorInfo& op_;
  const Signature& signature_;
  const bool conversions_;
  Bindings bindings_;
  std::vector<Plan> plans_;
  std::vector<Value*> variadic_;  // of a variadic schema
  std::string reason_;
};

}  // namespace uh::jit
