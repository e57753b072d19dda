// The invariants of nodes other than calls of operators: one rule per prim:: kind.
//
// Invariant: the compiler and the interpreter rely on what is said here (verify_node_kinds.cpp),
// and on no more: a kind without a rule is refused.
#pragma once

#include <string>

#include "jit/ir/graph.h"

namespace uh::jit {

// True if there is a rule for this kind.
bool is_kind(const std::string& kind);

// "" or what is wrong. `calls`: classes and functions are there to be looked at.
std::string wrong_of_kind(const Node& node, bool calls);

// is_subtype without what is known of tensors.
bool agree(const Type& type, const Type& expected);

}  // namespace uh::jit
