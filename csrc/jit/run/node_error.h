// NodeError: an error of code that runs several nodes as one, with the node that failed.
//
// Invariant: the node outlives the error: it belongs to the graph of the running code. Without the
// node, a traceback marks the first of the nodes, or none.
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
