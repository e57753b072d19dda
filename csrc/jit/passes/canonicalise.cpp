// canonicalise: programs that differ only in names and operand order become identical text.
#include <unordered_map>

#include "jit/ir/effects.h"
#include "jit/pass.h"

namespace uh::jit {
namespace {

// Operand order of sums and products: non-constants before constants, then earlier values first.
class Order {
 public:
  explicit Order(const Graph& graph) {
    for (const Value* input : graph.inputs()) add(input);
    graph.each_node([this](const Node* node) {
      for (const Value* output : node->outputs()) add(output);
      for (const Block* block : node->blocks())
        for (const Value* param : block->params()) add(param);
    });
  }

  bool in_order(const Value* a, const Value* b) const {
    const bool a_constant = a->constant(), b_constant = b->constant();
    if (a_constant != b_constant) return b_constant;
    return positions_.at(a) <= positions_.at(b);
  }

 private:
  void add(const Value* value) { positions_.emplace(value, positions_.size()); }

  std::unordered_map<const Value*, size_t> positions_;
};

void canonicalise(Graph& graph) {
  const Order order(graph);
  graph.each_node([&](Node* node) {
    if (!commutes(*node) || order.in_order(node->input(0), node->input(1))) return;
    Rewrite r(graph, "1 + x -> x + 1", {node});
    Value* first = node->input(0);
    node->set_input(0, node->input(1));
    node->set_input(1, first);
  });
  Rewrite r(graph, "Values are numbered from the top", {});
  graph.renumber();
}

}  // namespace

extern const Pass pass_canonicalise;
const Pass pass_canonicalise{
    "canonicalise", "Numbers Values from the top and puts operands in one order.", canonicalise};

}  // namespace uh::jit
