// What a node names, as the compiler looks it up: the function or method that it calls, the place
// of an attribute.
//
// Invariant: each throws a RuntimeError that quotes the node where there is nothing of that name: a
// graph may have been changed since it was verified.
#pragma once

#include "jit/ir/graph.h"

namespace uh::jit {

Ref<Function> callee_of(const Node& node);  // of prim::CallFunction
Ref<Function> method_of(const Node& node);  // of prim::CallMethod
size_t slot_of(const Node& node);           // of prim::GetAttr and prim::SetAttr

}  // namespace uh::jit
