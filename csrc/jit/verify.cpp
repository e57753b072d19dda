#include "jit/verify.h"

#include <algorithm>
#include <unordered_set>

#include "jit/print.h"

namespace uh::jit {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    block(*graph_.block());
    for (const auto& [value, uses] : seen_uses_) {
      if (uses != value->uses().size())
        fail(ErrorKind::kInternal, "graph: %", value->name(), " has ", value->uses().size(),
             " uses, and is used ", uses, " times");
    }
  }

 private:
  [[noreturn]] void wrong(const Node& node, const std::string& why) const {
    fail(ErrorKind::kInternal, "graph: ", why, ": ", print(node));
  }
  void require(bool good, const Node& node, const char* why) const {
    if (!good) wrong(node, why);
  }

  void block(const Block& b) {
    const Node* before = b.param_node();
    declare(*before);
    for (const Node* node = b.first();; node = node->next()) {
      require(node->prev() == before, *node, "the order of nodes is broken");
      require(node->owner() == &b, *node, "a node stands in a block that it does not know");
      inputs(*node);
      if (node == b.return_node()) break;
      inside(*node);
      declare(*node);
      before = node;
    }
    // What was made inside is not seen from outside.
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
        wrong(node, "%" + input->name() + " is used where it is not made yet");
      const auto& uses = input->uses();
      const bool listed =
          std::find(uses.begin(), uses.end(), Use{const_cast<Node*>(&node), i}) != uses.end();
      require(listed, node, "an input does not list its use");
      ++seen_uses_[input];
    }
    if (node.op() && node.op()->schema_text().find("...") == std::string_view::npos) {
      require(node.inputs().size() == node.op()->schema().arguments.size(), node,
              "an operator without all of its arguments");
    }
  }

  void inside(const Node& node) {
    for (const Block* b : node.blocks()) {
      require(b->owner() == &node, node, "a block belongs to another node");
      block(*b);
    }
    const size_t outputs = node.outputs().size();
    if (node.is("prim::If")) {
      require(node.inputs().size() == 1 && node.blocks().size() == 2, node,
              "an If has one condition and two blocks");
      for (const Block* b : node.blocks()) {
        require(b->params().empty(), node, "a block of an If has parameters");
        require(b->returns().size() == outputs, node,
                "a block of an If returns other than its outputs");
      }
    } else if (node.is("prim::Loop")) {
      require(node.blocks().size() == 1 && node.inputs().size() == outputs + 2, node,
              "a Loop has a trip count, a condition and what it carries");
      require(node.block(0)->params().size() == outputs + 1, node,
              "the block of a Loop has the round and what it carries as parameters");
      require(node.block(0)->returns().size() == outputs + 1, node,
              "the block of a Loop returns a condition and what it carries");
    } else if (node.is("prim::Constant")) {
      require(node.inputs().empty() && outputs == 1, node,
              "a constant has no inputs and one output");
      const Attribute* value = node.attribute("value");
      const Attribute* name = node.attribute("name");
      require(value || name || node.output()->type()->is(TypeKind::kNone) ||
                  node.output()->type()->is(TypeKind::kOptional),
              node, "a constant without a value");
    }
  }

  const Graph& graph_;
  std::unordered_set<const Value*> known_;
  std::unordered_map<const Value*, size_t> seen_uses_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

std::string lint_origins(const Graph& graph) {
  std::string missing;
  const auto look = [&](const Node& node) {
    for (const Value* value : node.outputs()) {
      if (node.span() || !value->origins().empty()) continue;
      missing += "%" + value->name() + " of " + print(node) + "\n";
    }
  };
  // The inputs of the graph are where its Values begin: they need no origin.
  graph.each_node([&](Node* node) {
    look(*node);
    for (const Block* block : node->blocks()) look(*block->param_node());
  });
  return missing;
}

}  // namespace uh::jit
