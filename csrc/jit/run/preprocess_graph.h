// LastUses: computed before registers are allocated: which Values never leave the stack, and the
// last use of each other Value.
//
// A statement is a node that is not inlined into another's operands. A Value with a single use, in
// the statement right after its node, is inlined: evaluated where it is pushed. Invariant: inlined
// nodes are evaluated in graph order.
#pragma once

#include <unordered_map>
#include <vector>

#include "jit/ir/graph.h"

namespace uh::jit {

class LastUses {
 public:
  explicit LastUses(const Graph& graph);

  bool is_inlined(const Node* node) const { return into_.count(node) != 0; }
  // Values with a use in the statement's block, or deeper, and none after the statement.
  const std::vector<const Value*>& ending_at(const Node* statement) const;
  bool used_in(const Block* block, const Value* value) const;
  bool used_within(const Node* node, const Value* value) const;

 private:
  const Node* inline_before(const Node* node, int depth = 0);
  void find_inlined(const Block& block);
  void find_last(const Block& block);
  const Node* statement_of(const Node* node) const;

  std::unordered_map<const Node*, const Node*> into_;  // inlined node -> its user
  std::unordered_map<const Block*, std::unordered_map<const Value*, const Node*>> last_;
  std::unordered_map<const Node*, std::vector<const Value*>> ending_;
};

}  // namespace uh::jit
