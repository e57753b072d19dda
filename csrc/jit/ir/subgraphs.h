// Visits the nodes of a graph and of the subgraphs in its nodes, such as those of prim::fork.
#pragma once

#include "jit/ir/graph.h"

namespace uh::jit {

template <class Visit>
void each_node_within(const Graph& graph, const Visit& visit) {
  graph.each_node([&](Node* node) {
    visit(node);
    for (const auto& [name, attribute] : node->attributes())
      if (attribute.graph) each_node_within(*attribute.graph, visit);
  });
}

}  // namespace uh::jit
