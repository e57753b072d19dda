// cse: removes a computation that repeats an earlier one on the same Values.
//
// A node may reuse the result of an equal one earlier in its block, or in an enclosing block. Their
// inputs must not be written in between; two results with separate memory are merged only if they
// are never written, and not both escape.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "jit/ir/alias_analysis.h"
#include "jit/ir/constants.h"
#include "jit/ir/effects.h"
#include "jit/pass.h"
#include "jit/text/print.h"

namespace uh::jit {
namespace {

// Key of a Value: equal constants have the same key.
std::string key_of(const Value* value) {
  const IValue* constant = value->constant();
  if (constant && is_immutable(*constant)) return value->type()->text() + "=" + print(*constant);
  return std::to_string(value->id());
}

std::string key_of(const Node& node) {
  std::string key = node.kind().text();
  if (node.op()) key += node.op()->schema_text();
  for (const auto& [name, attribute] : node.attributes())
    key += " " + name + "=" + print(attribute);
  std::vector<std::string> inputs;
  for (const Value* input : node.inputs()) inputs.push_back(key_of(input));
  if (commutes(node) && inputs[1] < inputs[0]) std::swap(inputs[0], inputs[1]);
  for (const std::string& input : inputs) key += "," + input;
  for (const Value* output : node.outputs()) key += ":" + output->type()->text();
  return key;
}

class Common {
 public:
  explicit Common(Graph& graph) : graph_(graph), alias_(graph) {}

  void visit(Block* block) {
    std::vector<std::string> block_keys;
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) visit(inner);
      if (!may_be_shared(*node)) continue;
      std::string key = key_of(*node);
      std::vector<Node*>& alike = candidates_[key];
      // The nearest first: fewer nodes are in between.
      const auto earlier = std::find_if(alike.rbegin(), alike.rend(),
                                        [&](const Node* e) { return may_replace(*e, *node); });
      if (earlier != alike.rend()) {
        replace(*earlier, node);
        continue;
      }
      alike.push_back(node);
      block_keys.push_back(std::move(key));
    }
    for (const std::string& key : block_keys) candidates_[key].pop_back();
  }

 private:
  static bool may_be_shared(const Node& node) {
    if (node.is("prim::Constant") || node.is("prim::Uninitialized") || !node.blocks().empty())
      return false;
    for (const auto& [name, attribute] : node.attributes())
      if (attribute.graph || attribute.object) return false;
    return !node.outputs().empty() && role_of(node) != Role::kCall && is_pure(node);
  }

  bool may_replace(const Node& earlier, const Node& node) const {
    if (alias_.reads_written(&node) && !alias_.may_move_up_to(&node, &earlier)) return false;
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const Value *a = earlier.output(i), *b = node.output(i);
      if (alias_.makes_memory(&node) ? !alias_.may_become_one(a, b)
                                     : alias_.is_reshaped(a) || alias_.is_reshaped(b))
        return false;
    }
    return true;
  }

  void replace(Node* earlier, Node* node) {
    Rewrite r(graph_, "computed before -> what was computed before", {node, earlier});
    r.because("%" + node->output(0)->name() + " is %" + earlier->output(0)->name() + " again");
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      alias_.became_one(earlier->output(i), node->output(i));
      earlier->output(i)->add_origin(node->output(i)->id());
      node->output(i)->replace_uses_with(earlier->output(i));
    }
    node->destroy();
  }

  Graph& graph_;
  AliasDb alias_;
  std::unordered_map<std::string, std::vector<Node*>> candidates_;
};

void cse(Graph& graph) { Common(graph).visit(graph.block()); }

}  // namespace

extern const Pass pass_cse;
const Pass pass_cse{"cse", "Computes what is needed several times once.", cse};

}  // namespace uh::jit
