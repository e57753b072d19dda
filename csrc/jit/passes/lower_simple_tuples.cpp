// lower_simple_tuples: removes tuples that are constructed and unpacked in the same
// graph.
//
// Applied to a newly compiled graph: tuples that blocks return are left, as in PyTorch;
// lower_all_tuples removes those when the graph is optimised.
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
