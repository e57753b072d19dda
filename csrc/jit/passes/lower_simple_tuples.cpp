// lower_simple_tuples: a tuple that is built here and taken apart in sight does not need to be
// there.
//
// What a graph shows after it was compiled: tuples that blocks return stay whole, as in PyTorch;
// lower_all_tuples takes those apart too, once the graph is optimised.
#include "jit/pass.h"
#include "jit/passes/tuple_folding.h"

namespace uh::jit {
namespace {

bool visit(TakeApart& tuples, Block* block) {
  bool changed = false;
  for (Node* node = block->first(); node != block->return_node();) {
    for (Block* inner : node->blocks()) changed |= visit(tuples, inner);
    Node* next = node->next();
    changed |= tuples.take_apart(node);
    node = next;
  }
  return changed;
}

void lower_simple_tuples(Graph& graph) {
  TakeApart tuples(graph);
  while (visit(tuples, graph.block())) {
  }
}

}  // namespace

extern const Pass pass_lower_simple_tuples;
const Pass pass_lower_simple_tuples{
    "lower_simple_tuples", "Removes tuples that are built and taken apart again in the same place.",
    lower_simple_tuples};

}  // namespace uh::jit
