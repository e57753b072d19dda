// Look-ups for the compiler: a node's function or method, an attribute's slot.
//
// Invariant: a failed look-up throws a RuntimeError that quotes the node: a graph may have changed
// since it was verified.
#pragma once

#include "jit/ir/graph.h"

namespace uh::jit {

Ref<Function> callee_of(const Node& node);  // of prim::CallFunction
Ref<Function> method_of(const Node& node);  // of prim::CallMethod
size_t slot_of(const Node& node);           // of prim::GetAttr and prim::SetAttr

}  // namespace uh::jit
