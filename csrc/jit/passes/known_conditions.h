// Simplifies an If with a constant condition, and outputs that both blocks return
// equally.
#pragma once

#include "jit/ir/constants.h"
#include "jit/ir/rewrite.h"

namespace uh::jit {

inline void take_block(Node* node, bool condition) {
  Rewrite r(node->graph(), condition ? "a if True else b -> a" : "a if False else b -> b", {node});
  Block* branch = node->block(condition ? 0 : 1);
  for (Node* inner : branch->nodes()) inner->move_before(node);
  for (size_t i = 0; i < node->outputs().size(); ++i)
    node->output(i)->replace_uses_with(branch->returns()[i]);
  node->destroy();
}

inline void drop_output(Node* node, size_t i) {
  node->drop_output(i);
  for (Block* block : node->blocks()) block->drop_return(i);
}

// Replaces an output for which both blocks return the same outside Value, or equal constants.
inline bool share_output(Node* node, size_t i) {
  Value* a = node->block(0)->returns()[i];
  Value* b = node->block(1)->returns()[i];
  Value* output = node->output(i);
  if (a == b) {
    Rewrite r(node->graph(), "x if c else x -> x", {node});
    output->replace_uses_with(a);
    drop_output(node, i);
    return true;
  }
  const IValue* first = a->constant();
  const IValue* second = b->constant();
  if (!first || !second || !is_immutable(*first) || !same_constant(*first, *second)) return false;
  if (!same_type(*a->type(), *b->type())) return false;
  Rewrite r(node->graph(), "1 if c else 1 -> 1", {node, a->node(), b->node()});
  Node* constant = node->graph().create_constant(*first);
  constant->output()->set_type(a->type());
  constant->insert_before(node);
  output->replace_uses_with(constant->output());
  drop_output(node, i);
  return true;
}

}  // namespace uh::jit
