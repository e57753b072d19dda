// Dead code elimination at the end of a trace, as in PyTorch.
#include <algorithm>
#include <unordered_set>

#include "jit/ir/alias_analysis.h"
#include "jit/ir/effects.h"
#include "jit/trace/tracing_state.h"

namespace uh::jit {
namespace {

class Living {
 public:
  explicit Living(const Graph& graph) : alias_(graph) {
    for (const Value* output : graph.outputs()) need(output->node());
    graph.each_node([&](const Node* node) {
      // Unused random numbers are removed as well.
      if (node->has_side_effects() && (!node->op() || node->is_deterministic())) need(node);
    });
    for (bool any = true; any;) {
      any = false;
      graph.each_node([&](const Node* node) {
        if (nodes_.count(node) != 0 || !seen(alias_.access(*node).written)) return;
        need(node);
        any = true;
      });
    }
  }

  bool has(const Node* node) const { return nodes_.count(node) != 0; }

 private:
  // Iterative: a trace may be long.
  void need(const Node* first) {
    std::vector<const Node*> tail{first};
    while (!tail.empty()) {
      const Node* node = tail.back();
      tail.pop_back();
      if (node->is("prim::Param") || !nodes_.insert(node).second) continue;
      for (const AliasDb::Location location : alias_.access(*node).read) read_.insert(location);
      for (const Value* input : node->inputs()) tail.push_back(input->node());
    }
  }

  bool seen(const AliasDb::Locations& written) const {
    return alias_.escape(written) ||
           std::any_of(written.begin(), written.end(),
                       [&](AliasDb::Location location) { return read_.count(location) != 0; });
  }

  AliasDb alias_;
  std::unordered_set<const Node*> nodes_;
  std::unordered_set<AliasDb::Location> read_;
};

}  // namespace

void remove_dead_of_trace(Graph& graph) {
  const Living living(graph);
  Block& block = *graph.block();
  for (Node* node = block.last(); node != block.param_node();) {
    Node* before = node->prev();
    if (!living.has(node)) node->destroy();
    node = before;
  }
}

}  // namespace uh::jit
