#include "jit/group/saved_for_backward.h"

#include <algorithm>
#include <string>

#include "generated/tags.h"
#include "jit/ir/alias_analysis.h"
#include "jit/schema_matching/overload.h"

namespace uh::jit {
namespace {

// Null: unknown, so all may be saved.
const SavedByOperator* find(const Node& node) {
  if (!node.op() || node.op()->name_space() != "aten") return nullptr;
  static constexpr SavedByOperator kNothing{"", 0, false};
  if (node.op()->differentiation() == Differentiation::kNone) return &kNothing;
  const auto table = saved_table();
  const std::string name = combined(*node.op()).full_name();
  const auto at = std::lower_bound(
      table.begin(), table.end(), name,
      [](const SavedByOperator& row, const std::string& n) { return row.name < n; });
  return at != table.end() && at->name == name ? &*at : nullptr;
}

bool may_require(const Type& type) {
  return type.is(TypeKind::kTensor) ? type.facts().requires_grad != false : is_mutable_type(type);
}

bool in_one_loop(const Node& a, const Node& b) {
  const auto around = [](const Node* node) -> const Node* {
    return node->owner() ? node->owner()->owner() : nullptr;
  };
  for (const Node* at = &a; at; at = around(at)) {
    if (!at->is("prim::Loop")) continue;
    for (const Node* other = &b; other; other = around(other))
      if (other == at) return true;
  }
  return false;
}

}  // namespace

bool saves_input(const Node& node, size_t index) {
  const SavedByOperator* row = find(node);
  if (!row) return true;
  const auto at = position_in_combined(*node.op(), index);
  return at && (*at >= 32 || (row->arguments >> *at & 1) != 0);
}

bool saves_result(const Node& node) {
  const SavedByOperator* row = find(node);
  return !row || row->result;
}

bool may_want_gradients(const Graph& graph) {
  bool may = false;
  for (const Value* input : graph.inputs()) may = may || may_require(*input->type());
  graph.each_node([&](const Node* node) {
    // An attribute may be a parameter; for a constant the flag is known.
    if (node->is("prim::GetAttr") || (node->op() && node->op()->has_tag(Tag::kSetsRequiresGrad)))
      may = true;
    if (node->is_constant()) may = may || may_require(*node->output()->type());
  });
  return may;
}

bool is_done_after(const Node& write, const Node& node) {
  return !write.is_before(&node) || in_one_loop(write, node);
}

}  // namespace uh::jit
