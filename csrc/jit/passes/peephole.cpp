// peephole: simplifies a Node together with its operands' nodes. The rules are in jit/peephole/.
#include <unordered_map>

#include "jit/pass.h"
#include "jit/peephole/rules.h"

namespace uh::jit {
namespace {

using Table = std::unordered_map<std::string, std::vector<bool (*)(Peephole&, Node*)>>;

const Table& table() {
  static const auto* all = [] {
    auto* result = new Table;
    for (const PeepholeRules* rules : {&view_rules(), &cast_rules(), &tensor_arithmetic_rules(),
                                       &number_rules(), &container_rules(), &fact_rules()}) {
      for (const PeepholeRule& rule : *rules)
        for (const char* kind : rule.kinds) (*result)[kind].push_back(rule.apply);
    }
    return result;
  }();
  return *all;
}

// In program order: a node's operands have been simplified before it.
bool visit(Peephole& peephole, Block* block) {
  bool changed = false;
  for (Node* node = block->first(); node != block->return_node();) {
    for (Block* inner : node->blocks()) changed |= visit(peephole, inner);
    // Rules remove this node or earlier ones.
    Node* next = node->next();
    if (const auto rules = table().find(node->kind().text()); rules != table().end()) {
      for (const auto rule : rules->second) {
        if (!rule(peephole, node)) continue;
        changed = true;
        break;
      }
    }
    node = next;
  }
  return changed;
}

void run_peephole(Graph& graph) {
  // A rule's new nodes are visited in the next iteration, with up-to-date alias information.
  for (bool changed = true; changed;) {
    Peephole peephole(graph);
    changed = visit(peephole, graph.block());
  }
}

}  // namespace

extern const Pass pass_peephole;
const Pass pass_peephole{"peephole", "Replaces a few nodes that do little by fewer.", run_peephole};

}  // namespace uh::jit
