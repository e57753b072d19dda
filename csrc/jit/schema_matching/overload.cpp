#include "jit/schema_matching/overload.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "dispatch/dispatcher.h"
#include "jit/schema_matching/signature.h"

namespace uh::jit {
namespace {

struct All {
  std::map<std::string, std::vector<const Overload*>> by_name;
  std::unordered_map<const OperatorInfo*, std::vector<const Overload*>> by_combined;
};

const All& all() {
  static const All* result = [] {
    auto* filled = new All;
    for (const OverloadRow& row : overload_table()) {
      const OperatorInfo* combined =
          Dispatcher::instance().find(std::string("aten::") + row.combined);
      check_kind(combined != nullptr, ErrorKind::kInternal, "overloads: there is no ",
                 row.combined);
      const auto* overload = new Overload(*combined, row);
      filled->by_name[overload->qualified_name()].push_back(overload);
      filled->by_combined[combined].push_back(overload);
    }
    return filled;
  }();
  return *result;
}

const std::vector<const Overload*>& none() {
  static const auto* empty = new std::vector<const Overload*>;
  return *empty;
}

// PyTorch's Python default of an argument that has no meaning here.
IValue python_default(const Argument& extra) {
  const std::string_view name = extra.name;
  if (name == "cudnn_enabled" || name == "allow_tf32") return true;
  if (name == "pin_memory" || name == "benchmark" || name == "deterministic") return false;
  return IValue();
}

}  // namespace

Overload::Overload(const OperatorInfo& combined, const OverloadRow& row)
    : OperatorInfo(row.schema, combined.tags()), combined_(combined) {
  set_differentiation(combined.differentiation());
  const Signature& signature = signature_of(combined);
  const FunctionSchema& expected = combined.schema();
  for (size_t i = 0; i < expected.arguments.size(); ++i) {
    const std::string_view name = expected.arguments[i].name;
    Part part;
    const size_t from = schema().index_of(name);
    if (from < schema().arguments.size()) {
      part.from = from;
      const SchemaType& type = expected.arguments[i].type;
      part.listed = type.is_list() && type.base() == SchemaKind::kInt &&
                    schema().arguments[from].type.is(SchemaKind::kInt);
    } else {
      part.otherwise = signature.parameters[i].default_value;
      for (const auto& [argument, value] : row.defaults)
        if (name == argument) part.otherwise = value;
    }
    first_ =
        first_ && !part.listed && (part.from ? *part.from == i : i >= schema().arguments.size());
    parts_.push_back(std::move(part));
  }
  first_ = first_ && parts_.size() >= schema().arguments.size();
}

std::optional<size_t> Overload::position(size_t i) const {
  for (size_t k = 0; k < parts_.size(); ++k)
    if (parts_[k].from == i) return k;
  return std::nullopt;
}

std::optional<Stack> Overload::arguments_from(const Stack& arguments, Device result) const {
  const Signature& signature = signature_of(*this);
  Stack stack;
  for (const Parameter& p : signature.parameters) {
    const Argument& argument = schema().arguments[stack.size()];
    stack.push_back(p.has_default ? p.default_value : IValue());
    if (!position(stack.size() - 1)) stack.back() = python_default(argument);
  }
  const bool makes =
      !schema().arguments.empty() && !schema().arguments[0].type.is(SchemaKind::kTensor);
  for (size_t k = 0; k < parts_.size(); ++k) {
    const Part& part = parts_[k];
    if (!part.from) {
      if (!equal(arguments[k], part.otherwise)) return std::nullopt;
      continue;
    }
    const Argument& argument = schema().arguments[*part.from];
    IValue value = arguments[k];
    if (part.listed) {
      const Dims* dims = value.get_if<Dims>();
      if (!dims || dims->size() != 1) return std::nullopt;
      value = (*dims)[0];
    } else if (value.is_none()) {
      if (argument.has_default()) continue;
      if (!argument.type.is(SchemaKind::kOptional)) return std::nullopt;
    }
    stack[*part.from] = std::move(value);
  }
  for (size_t i = 0; i < stack.size(); ++i)
    if (makes && stack[i].is_none() && schema().arguments[i].type.base() == SchemaKind::kDevice)
      stack[i] = result;
  return stack;
}

// Rejects a value with a meaning to PyTorch for an argument without one here.
void Overload::refuse(const Argument& argument, const IValue& value) const {
  if (value.is_none()) return;
  const auto* layout = argument.name == "layout" ? value.get_if<int64_t>() : nullptr;
  check_kind(!layout || *layout == 0, ErrorKind::kNotImplemented, schema().name(),
             ": tensors are strided here; there is no layout ", layout ? *layout : 0);
  check_kind(argument.name != "generator", ErrorKind::kNotImplemented, schema().name(),
             ": compiled programs draw from the default generator; seed it with manual_seed()");
}

void Overload::call_boxed(Stack& stack) {
  const std::span<const Argument> arguments = schema().arguments;
  check_kind(stack.size() >= arguments.size(), ErrorKind::kType, schema().name(), ": expected ",
             arguments.size(), " arguments, got ", stack.size());
  auto& op = const_cast<OperatorInfo&>(combined_);
  const size_t base = stack.size() - arguments.size();
  if (first_) {
    for (size_t i = arguments.size(); i < parts_.size(); ++i) stack.push_back(parts_[i].otherwise);
    op.call_boxed(stack);
    return;
  }
  std::vector<bool> used(arguments.size(), false);
  Stack inputs;
  inputs.reserve(parts_.size());
  for (const Part& part : parts_) {
    if (!part.from) {
      inputs.push_back(part.otherwise);
      continue;
    }
    used[*part.from] = true;
    IValue& value = stack[base + *part.from];
    inputs.push_back(part.listed && !value.is_none() ? IValue(Dims{from_value<int64_t>(value)})
                                                     : std::move(value));
  }
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!used[i]) refuse(arguments[i], stack[base + i]);
  stack.resize(base);
  std::move(inputs.begin(), inputs.end(), std::back_inserter(stack));
  op.call_boxed(stack);
}

const std::vector<const Overload*>& overloads_named(const std::string& qualified_name) {
  const auto it = all().by_name.find(qualified_name);
  return it == all().by_name.end() ? none() : it->second;
}

const std::vector<const Overload*>& overloads_of(const OperatorInfo& op) {
  const auto it = all().by_combined.find(&op);
  return it == all().by_combined.end() ? none() : it->second;
}

const OperatorInfo& combined(const OperatorInfo& op) {
  const auto* overload = dynamic_cast<const Overload*>(&op);
  return overload ? overload->combined() : op;
}

std::optional<size_t> position_in_combined(const OperatorInfo& op, size_t i) {
  const auto* overload = dynamic_cast<const Overload*>(&op);
  return overload ? overload->position(i) : std::optional(i);
}

}  // namespace uh::jit
