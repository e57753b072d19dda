#include "jit/ir/verify.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "jit/ir/verify_node_kinds.h"
#include "jit/schema_matching/signature.h"
#include "jit/text/print.h"

namespace uh::jit {
namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, bool calls) : graph_(graph), calls_(calls) {}

  void run() {
    block(*graph_.block());
    for (const auto& [value, uses] : seen_uses_) {
      if (uses != value->uses().size())
        fail(ErrorKind::kInternal, "graph: %", value->name(), " has ", value->uses().size(),
             " uses, and is used ", uses, " times");
    }
  }

 private:
  [[noreturn]] void wrong(const Node& node, const std::string& reason) const {
    fail(ErrorKind::kInternal, "graph: ", reason, ": ", print(node));
  }
  void require(bool good, const Node& node, const char* reason) const {
    if (!good) wrong(node, reason);
  }

  void block(const Block& b) {
    const Node* before = b.param_node();
    declare(*before);
    for (const Node* node = b.first();; node = node->next()) {
      require(node->prev() == before, *node, "the order of nodes is broken");
      require(node->owner() == &b, *node, "wrong owning block");
      inputs(*node);
      if (node == b.return_node()) break;
      inside(*node);
      declare(*node);
      before = node;
    }
    // Values defined inside a block are not visible outside.
    for (const Node* node = b.param_node(); node != b.return_node(); node = node->next())
      for (const Value* output : node->outputs()) known_.erase(output);
  }

  void declare(const Node& node) {
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const Value* output = node.output(i);
      require(output->node() == &node && output->offset() == i, node, "an output is another's");
      require(static_cast<bool>(output->type()), node, "an output has no type");
      known_.insert(output);
      seen_uses_.try_emplace(output, 0);
    }
  }

  void inputs(const Node& node) {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* input = node.input(i);
      if (known_.count(input) == 0)
        wrong(node, "%" + input->name() + " is used before its definition");
      require(lists(input, {const_cast<Node*>(&node), i}), node, "an input does not list its use");
      ++seen_uses_[input];
    }
  }

  // A constant may have many uses: a long list is sorted once, at the first query.
  bool lists(const Value* value, const Use& use) {
    constexpr size_t kShort = 16;
    const auto before = [](const Use& a, const Use& b) {
      return std::less<const Node*>()(a.node, b.node) || (a.node == b.node && a.index < b.index);
    };
    const std::vector<Use>& uses = value->uses();
    if (uses.size() <= kShort) return std::find(uses.begin(), uses.end(), use) != uses.end();
    std::vector<Use>& sorted = sorted_[value];
    if (sorted.empty()) {
      sorted = uses;
      std::sort(sorted.begin(), sorted.end(), before);
    }
    return std::binary_search(sorted.begin(), sorted.end(), use, before);
  }

  void inside(const Node& node) {
    for (const Block* b : node.blocks()) {
      require(b->owner() == &node, node, "a block belongs to another node");
      block(*b);
    }
    const std::string reason = node.op() ? call(node) : violation_in(node, calls_);
    if (!reason.empty()) wrong(node, reason);
    if (const Attribute* sub = node.attribute("Subgraph"); sub && sub->graph)
      Verifier(*sub->graph, calls_).run();
  }

  static std::string call(const Node& node) {
    if (node.kind().text() != node.op()->qualified_name())
      return message("it calls ", node.op()->qualified_name());
    if (!node.blocks().empty()) return "an operator has no blocks";
    std::vector<TypeRef> actual_types, results;
    for (const Value* input : node.inputs()) actual_types.push_back(input->type());
    std::string reason = check_arguments(*node.op(), actual_types, &results);
    if (!reason.empty()) return message(node.op()->schema_text(), ": ", reason);
    if (node.outputs().size() != results.size())
      return message(node.op()->schema_text(), ": it gives ", results.size(), " values, not ",
                     node.outputs().size());
    for (size_t i = 0; i < results.size(); ++i) {
      const TypeRef& claimed = node.output(i)->type();
      if (!is_unshaped_subtype(*claimed, *results[i]) &&
          !is_unshaped_subtype(*results[i], *claimed))
        return message(node.op()->schema_text(), ": it gives a ", results[i]->text(), ", not a ",
                       claimed->text());
    }
    return "";
  }

  const Graph& graph_;
  const bool calls_;
  std::unordered_set<const Value*> known_;
  std::unordered_map<const Value*, size_t> seen_uses_;
  std::unordered_map<const Value*, std::vector<Use>> sorted_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph, true).run(); }
void verify_alone(const Graph& graph) { Verifier(graph, false).run(); }

std::string lint_origins(const Graph& graph) {
  std::string missing;
  const auto look = [&](const Node& node) {
    for (const Value* value : node.outputs()) {
      if (node.span() || !value->origins().empty()) continue;
      missing += "%" + value->name() + " of " + print(node) + "\n";
    }
  };
  graph.each_node([&](Node* node) {
    look(*node);
    for (const Block* block : node->blocks()) look(*block->param_node());
  });
  return missing;
}

}  // namespace uh::jit
