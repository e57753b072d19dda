// The invariants of nodes other than calls of operators: one rule per prim:: kind.
//
// Invariant: the compiler and the interpreter rely on exactly the rules of verify_node_kinds.cpp; a
// kind without a rule is rejected.
#pragma once

#include <string>

#include "jit/ir/graph.h"

namespace uh::jit {

// True if there is a rule for this kind.
bool is_kind(const std::string& kind);

// Returns "" or the violation. `calls`: look up classes and functions.
std::string wrong_of_kind(const Node& node, bool calls);

// is_subtype without tensor properties.
bool agree(const Type& type, const Type& expected);

}  // namespace uh::jit
