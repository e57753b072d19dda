#include "jit/run/preprocess_graph.h"

#include <algorithm>

#include "jit/schema_matching/signature.h"

namespace uh::jit {
namespace {

bool can_inline(const Node* node) {
  return node->blocks().empty() && node->outputs().size() == 1 && !node->is("prim::Param") &&
         !node->is("prim::Return");
}

// The compiler recurses into a chain of inlined nodes: a longer chain is split into statements.
constexpr int kMaxChainDepth = 100;

// Skips constants: they are pushed at their uses.
const Node* before(const Node* node) {
  node = node->prev();
  while (node && node->is("prim::Constant")) node = node->prev();
  return node;
}

}  // namespace

LastUses::LastUses(const Graph& graph) {
  find_inlined(*graph.block());
  find_last(*graph.block());
  for (const auto& [block, values] : last_)
    for (const auto& [value, statement] : values) ending_[statement].push_back(value);
  for (auto& [statement, values] : ending_)
    std::sort(values.begin(), values.end(), [](auto* a, auto* b) { return a->id() < b->id(); });
}

// Inlines the operands from last to first, while each is computed by the preceding node.
const Node* LastUses::inline_before(const Node* node, int depth) {
  const Node* at = before(node);
  if (depth == kMaxChainDepth) return at;
  if (!returned_inputs(*node).empty()) return at;  // a written operand is pushed twice
  for (size_t i = node->inputs().size(); i-- > 0;) {
    const Value* value = node->input(i);
    if (value->node() != at || !can_inline(at) || value->uses().size() != 1) continue;
    into_[at] = node;
    at = inline_before(at, depth + 1);
  }
  return at;
}

void LastUses::find_inlined(const Block& block) {
  for (const Node* n = block.return_node(); n && n != block.param_node(); n = before(n))
    if (!is_inlined(n)) inline_before(n);
  for (const Node* node = block.first(); node != block.return_node(); node = node->next())
    for (const Block* inner : node->blocks()) find_inlined(*inner);
}

const Node* LastUses::statement_of(const Node* node) const {
  for (auto it = into_.find(node); it != into_.end(); it = into_.find(node)) node = it->second;
  return node;
}

void LastUses::find_last(const Block& block) {
  const auto used_by = [&](const Node* user) {
    for (const Value* value : user->inputs()) {
      const Node* statement = statement_of(user);
      for (const Block* b = user->owner(); b; b = b->owner() ? b->owner()->owner() : nullptr) {
        last_[b][value] = statement;
        if (b == value->block()) break;
        statement = b->owner();
      }
    }
  };
  for (const Node* node = block.first(); node != block.return_node(); node = node->next()) {
    used_by(node);
    for (const Block* inner : node->blocks()) find_last(*inner);
  }
  used_by(block.return_node());
}

const std::vector<const Value*>& LastUses::ending_at(const Node* statement) const {
  static const std::vector<const Value*> nothing;
  const auto it = ending_.find(statement);
  return it == ending_.end() ? nothing : it->second;
}

bool LastUses::used_in(const Block* block, const Value* value) const {
  const auto it = last_.find(block);
  return it != last_.end() && it->second.count(value) != 0;
}

bool LastUses::used_within(const Node* node, const Value* value) const {
  return std::any_of(node->blocks().begin(), node->blocks().end(),
                     [&](const Block* inner) { return used_in(inner, value); });
}

}  // namespace uh::jit
