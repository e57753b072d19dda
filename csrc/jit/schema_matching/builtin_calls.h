// Calls by name: chooses the operator or builtin by PyTorch's rules.
//
// The candidates of a name are tried in order, first with the arguments as they are, then with
// implicit conversions: bool and int to float, a Tensor to a number, a str to a Device, trailing
// arguments to the last list (`x.view(2, 3)`). Both times a tuple may be a list, one int fill
// `int[2]`, and None match an optional. Missing arguments get the schema's defaults. Invariant:
// nothing is inserted into the graph unless the call is; new nodes go before the insertion point,
// with the graph's span.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/ir/graph.h"

namespace uh::jit {

struct NamedValue {
  std::string name;
  Value* value;
};

// The operators, then builtins, of a name: "aten::add", "add" (aten, else prim), or a single
// overload: "aten::add.Tensor". Empty if there are none.
std::vector<const OperatorInfo*> operators_named(std::string_view name);

// The same with the engine's combined operators, which accept more, after PyTorch's overloads:
// calls try them last, passes call them, and graphs in older files use them.
std::vector<const OperatorInfo*> operators_in_texts(std::string_view kind);

// Inserts the call. A method's `self` is the first of `args`. Throws a RuntimeError that lists
// every candidate with the reason why it does not match.
Node* emit_builtin_call(Graph& graph, std::string_view name, const std::vector<Value*>& args,
                        const std::vector<NamedValue>& kwargs = {});
// The same, but null if nothing matches; `reason` then receives that text.
Node* try_call(Graph& graph, std::string_view name, const std::vector<Value*>& args,
               const std::vector<NamedValue>& kwargs, std::string* reason);

// The value of a call in a program: its output; a tuple of several; for an in-place operator
// without outputs the written argument; null if there is none (None in the program).
Value* result_of(Node* call);
inline Value* emit_value(Graph& graph, std::string_view name, const std::vector<Value*>& args,
                         const std::vector<NamedValue>& kwargs = {}) {
  return result_of(emit_builtin_call(graph, name, args, kwargs));
}

// The overload for exactly these types, with all arguments: resolves "aten::add" in a graph's text.
// Null if none matches; `reason` then lists what was tried.
const OperatorInfo* find_overload(std::string_view kind, const std::vector<TypeRef>& actual_types,
                                  size_t outputs, std::string* reason);

}  // namespace uh::jit
