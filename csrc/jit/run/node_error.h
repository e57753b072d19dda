// NodeError: what went wrong where several nodes run as one, and at which of them.
//
// Invariant: the node outlives the error: it belongs to the graph of the code that runs. Without
// it a traceback marks the first of the nodes, or none.
#pragma once

#include "base/error.h"
#include "jit/ir/graph.h"

namespace uh::jit {

class NodeError : public Error {
 public:
  NodeError(const Error& error, const Node* failed) : Error(error), node(failed) {}
  const Node* const node;
};

}  // namespace uh::jit
