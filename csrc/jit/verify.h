// verify: what must be true of a Graph before and after every pass, before it is compiled, and of
// every graph that was read from a file.
#pragma once

#include <string>

#include "jit/graph.h"

namespace uh::jit {

// Throws kInternal, quoting the node: an input that is not made before it, uses and inputs that
// disagree, blocks that do not fit their If or Loop, an operator with too few arguments.
void verify(const Graph& graph);

// The Values that lead back to nothing, a line each: neither their node has a span nor they an
// origin. "" when there is none (Note [Origins]).
std::string lint_origins(const Graph& graph);

}  // namespace uh::jit
