// fold_constant_branches: removes Ifs and Loops whose conditions are constant.
//
// An If with a constant condition becomes the nodes of the block that is taken. An output that both
// blocks return equally is replaced, as is a bool that repeats the condition. A Loop whose initial
// condition is false is removed.
#include "jit/builtins/builtin.h"
#include "jit/ir/constants.h"
#include "jit/pass.h"
#include "jit/passes/known_conditions.h"

namespace uh::jit {
namespace {

void skip_loop(Node* node) {
  Rewrite r(node->graph(), "while False: ... -> nothing", {node});
  for (size_t i = 0; i < node->outputs().size(); ++i)
    node->output(i)->replace_uses_with(node->input(i + 2));
  node->destroy();
}

// An output that is True in one block and False in the other: the condition or its negation.
bool take_condition(Node* node, size_t i) {
  const std::optional<bool> a = constant_bool(node->block(0)->returns()[i]);
  const std::optional<bool> b = constant_bool(node->block(1)->returns()[i]);
  if (!a || !b || *a == *b || !node->output(i)->type()->is(TypeKind::kBool)) return false;
  Value* condition = node->input(0);
  const Builtin* opposite = *a ? nullptr : find_builtin("aten::__not__");
  if (!*a && !opposite) return false;
  Rewrite r(node->graph(), *a ? "True if c else False -> c" : "False if c else True -> not c",
            {node});
  if (!*a)
    condition = node->graph().create_call(*opposite, {condition})->insert_before(node)->output();
  node->output(i)->replace_uses_with(condition);
  drop_output(node, i);
  return true;
}

bool visit(Block* block) {
  bool changed = false;
  for (Node* node = block->first(); node != block->return_node();) {
    if (node->is("prim::If")) {
      if (const std::optional<bool> condition = constant_bool(node->input(0))) {
        Node* before = node->prev();
        take_block(node, *condition);
        changed = true;
        node = before->next();  // continue with the nodes that replaced it
        continue;
      }
      for (size_t i = node->outputs().size(); i-- > 0;)
        changed |= share_output(node, i) || take_condition(node, i);
    } else if (node->is("prim::Loop") && constant_bool(node->input(1)) == false) {
      Node* next = node->next();
      skip_loop(node);
      changed = true;
      node = next;
      continue;
    }
    for (Block* inner : node->blocks()) changed |= visit(inner);
    node = node->next();
  }
  return changed;
}

void fold_constant_branches(Graph& graph) {
  // Repeats: in a loop, an If's output may be the condition of an earlier one.
  while (visit(graph.block())) {
  }
}

}  // namespace

extern const Pass pass_fold_constant_branches;
const Pass pass_fold_constant_branches{
    "fold_constant_branches",
    "Replaces branches and loops whose way is known by the nodes that run.",
    fold_constant_branches};

}  // namespace uh::jit
