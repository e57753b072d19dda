// canonicalise_outputs: sorts the outputs of a branch or a loop by their first
// use, as PyTorch does. The front end creates outputs before it has compiled their
// uses.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "jit/ir/rewrite.h"
#include "jit/pass.h"

namespace uh::jit {
namespace {

class Orderer {
 public:
  explicit Orderer(Graph& graph) : graph_(graph) { number(graph.block()); }

  // Nodes are sorted from the last to the first, because sorting a node may change the order of its
  // inputs.
  void order(Block* block) {
    const std::vector<Node*> nodes = block->nodes();
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      Node* node = *it;
      if (node->is("prim::If") || node->is("prim::Loop")) order(node);
      for (Block* inner : node->blocks()) order(inner);
    }
  }

 private:
  using UsePosition = std::pair<size_t, size_t>;  // position of the node, index of its input

  void number(const Block* block) {
    for (const Node* node : block->nodes()) {
      positions_.emplace(node, positions_.size());
      for (const Block* inner : node->blocks()) number(inner);
    }
    positions_.emplace(block->return_node(), positions_.size());
  }

  UsePosition first_use(const Value* value) const {
    UsePosition first{positions_.size(), 0};
    for (const Use& use : value->uses())
      first = std::min(first, UsePosition{positions_.at(use.node), use.index});
    return first;
  }

  void order(Node* node) {
    const size_t n = node->outputs().size();
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return first_use(node->output(a)) < first_use(node->output(b));
    });
    if (std::is_sorted(order.begin(), order.end())) return;
    Rewrite r(graph_, "outputs in the order of their first use", {node});
    const bool loop = node->is("prim::Loop");
    // Appends all outputs in the new order, then removes the old ones.
    for (const size_t i : order) {
      move_uses(node->output(i), node->add_output());
      for (Block* block : node->blocks()) block->add_return(block->returns()[loop + i]);
      if (!loop) continue;
      node->add_input(node->input(2 + i));
      move_uses(node->block(0)->params()[1 + i], node->block(0)->add_param());
    }
    for (size_t i = 0; i < n; ++i) {
      node->drop_output(0);
      for (Block* block : node->blocks()) block->drop_return(loop);
      if (!loop) continue;
      node->drop_input(2);
      node->block(0)->drop_param(1);
    }
  }

  static void move_uses(Value* old, Value* new_value) {
    new_value->copy_facts(*old);
    old->replace_uses_with(new_value);
  }

  Graph& graph_;
  std::unordered_map<const Node*, size_t> positions_;
};

void canonicalise_outputs(Graph& graph) { Orderer(graph).order(graph.block()); }

}  // namespace

extern const Pass pass_canonicalise_outputs;
const Pass pass_canonicalise_outputs{
    "canonicalise_outputs", "Outputs of branches and loops in the order of their first use.",
    canonicalise_outputs};

}  // namespace uh::jit
