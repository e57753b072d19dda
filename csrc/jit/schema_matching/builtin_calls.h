// Calls by name: which operator or builtin a program means, by PyTorch's rules.
//
// What: candidates of a name are tried in order, first as the arguments are, then with implicit
// conversions: bool and int to float, a Tensor to a number, a str to a Device, arguments one by one
// to the last list (`x.view(2, 3)`). In both rounds a tuple may be a list, one int stand for
// `int[2]`, and None for an optional. Missing arguments are the schema's defaults.
// Invariant: nothing is inserted into the graph unless the call is; what is inserted goes before
// the insertion point, with the graph's span.
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

// Operators, then builtins, of a name: "aten::add", "add" (aten, else prim), or one overload alone:
// "aten::add.Tensor". Empty when there is none.
std::vector<const OperatorInfo*> operators_named(std::string_view name);

// The same and, after PyTorch's overloads, the engine's combined operators, which accept more: what
// a call is tried with last, what passes call, and what graphs of older files hold.
std::vector<const OperatorInfo*> operators_in_texts(std::string_view kind);

// Inserts the call. A method's `self` is the first of `args`. Throws a RuntimeError that lists
// every candidate with why it does not fit.
Node* emit_builtin_call(Graph& graph, std::string_view name, const std::vector<Value*>& args,
                        const std::vector<NamedValue>& kwargs = {});
// The same, null where nothing fits; then `why` has that text.
Node* try_call(Graph& graph, std::string_view name, const std::vector<Value*>& args,
               const std::vector<NamedValue>& kwargs, std::string* reason);

// The value of a call in a program: its output; a tuple of several; the written argument, of an
// operator in place that has none; null where there is nothing (None to the program).
Value* result_of(Node* call);
inline Value* emit_value(Graph& graph, std::string_view name, const std::vector<Value*>& args,
                         const std::vector<NamedValue>& kwargs = {}) {
  return result_of(emit_builtin_call(graph, name, args, kwargs));
}

// The overload that takes exactly these types, all arguments given: what a graph's text means by
// "aten::add". Null if none matches; then `why` lists what was tried.
const OperatorInfo* find_overload(std::string_view kind, const std::vector<TypeRef>& actual_types,
                                  size_t outputs, std::string* reason);

}  // namespace uh::jit
