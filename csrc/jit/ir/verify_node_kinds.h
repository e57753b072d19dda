// The invariants of nodes other than calls of operators: one rule per prim:: kind.
//
// Invariant: the compiler and the interpreter rely on exactly the rules of verify_node_kinds.cpp; a
// kind without a rule is rejected.
#pragma once

#include <string>

#include "jit/ir/graph.h"

namespace uh::jit {

// True if nodes of this kind have a rule.
bool has_rule(const std::string& kind);

// Returns what is wrong with the node, "" if nothing is. `calls`: also look up the classes and
// functions that it names.
std::string violation_in(const Node& node, bool calls);

// is_subtype, but ignores the known dtypes and sizes of tensors.
bool is_unshaped_subtype(const Type& type, const Type& expected);

}  // namespace uh::jit
