// Translation of a Node into a step of a fused group: its operator and arguments in terms of
// fused/.
//
// Invariant: decisions use the types only. A type may be an assumption that an input violates; the
// code that runs a group checks the actual tensors.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "jit/fused/program.h"
#include "jit/ir/graph.h"

namespace uh::jit {

// The constant value, also None; null if the Value is not a constant.
const IValue* constant_of(const Value& value);
// Dtype and zero_dim, if the type has both.
std::optional<fused::TermKind> kind_of(const Type& type);
// The type with unknown tensor properties replaced by likely ones: Float, of some rank. A group may
// be built on this assumption, since its inputs are checked when it runs.
TypeRef assumed(const TypeRef& type);
// The kind of a number that is not a constant; nullopt for other types.
std::optional<Scalar::Kind> number_kind(const Type& type);
std::optional<Scalar> number_of(const IValue& value);
std::optional<DType> dtype_of(const IValue& value);  // also by PyTorch's code

// The arguments of a step; nullopt if one is neither a constant, a number nor a known tensor.
// `term` returns the Term of an input that is not a constant.
using TermOf = std::function<std::optional<fused::Term>(Value*)>;
std::optional<std::vector<fused::StepArgument>> step_arguments(const Node& node,
                                                               const TermOf& term);

// Inserts a call of an operator, by its full name, at the insertion point, and returns its one
// result; used by rules of passes.
Value* insert_call(Graph& graph, std::string_view name, const std::vector<Value*>& inputs);

// The type of the node's one result; nullopt if it cannot be a step. `type_of` returns the known
// type of an input.
std::optional<fused::TermKind> as_step(const Node& node,
                                       const std::function<TypeRef(Value*)>& type_of);

// A reduction (yaml key `fold`) that ends a group, with the number of last dimensions that it
// reduces (Builder::kAllDims: all); nullopt if it cannot. If the rank is unknown, `dim` must count
// from the last dimension.
struct Reduction {
  std::string op;  // "sum"
  int dims;
  bool keepdim;
};
std::optional<Reduction> as_reduction(const Node& node, const Type& input);

}  // namespace uh::jit
