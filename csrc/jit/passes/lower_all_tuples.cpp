// lower_all_tuples: removes tuples that the graph both constructs and unpacks.
//
// Unpacking a constructed tuple gives its elements. A tuple that an If returns, or that a Loop
// carries, is replaced by its elements, and constructed again afterwards for users of the tuple
// itself. Tuples among the graph's inputs and outputs are unchanged.
#include <set>

#include "jit/pass.h"
#include "jit/passes/tuple_folding.h"

namespace uh::jit {
namespace {

class Lowering : public TakeApart {
 public:
  using TakeApart::TakeApart;

  bool visit(Block* block) {
    bool changed = false;
    for (Node* node = block->first(); node != block->return_node();) {
      for (Block* inner : node->blocks()) changed |= visit(inner);
      if (node->is("prim::If")) changed |= lower_if(node);
      if (node->is("prim::Loop")) changed |= lower_loop(node);
      Node* next = node->next();
      changed |= take_apart(node);
      node = next;
    }
    return changed;
  }

 private:
  static void drop_both(Node* const (&constructs)[2]) {
    const bool once = constructs[0] == constructs[1];
    if (constructs[0]) drop_unused(constructs[0]);
    if (constructs[1] && !once) drop_unused(constructs[1]);
  }

  // True if a value may be undefined: a block's output on paths that do not reach its definition.
  // Such a tuple has no elements to unpack.
  static bool may_be_nothing(const Value* value, std::set<const Value*>& seen) {
    if (!seen.insert(value).second) return false;
    const Node* node = value->node();
    if (node->is("prim::Uninitialized")) return true;
    if (value->is_param()) {
      const Node* owner = value->block()->owner();
      if (!owner || !owner->is("prim::Loop") || value->offset() == 0) return false;
      return may_be_nothing(owner->input(value->offset() + 1), seen) ||
             may_be_nothing(owner->block(0)->returns()[value->offset()], seen);
    }
    const size_t i = value->offset();
    if (node->is("prim::If")) {
      return may_be_nothing(node->block(0)->returns()[i], seen) ||
             may_be_nothing(node->block(1)->returns()[i], seen);
    }
    return node->is("prim::Loop") && (may_be_nothing(node->input(i + 2), seen) ||
                                      may_be_nothing(node->block(0)->returns()[i + 1], seen));
  }

  static bool has_parts(const Value* tuple) {
    if (built(tuple) || tuple->node()->is("prim::Uninitialized")) return true;
    std::set<const Value*> seen;
    return !may_be_nothing(tuple, seen);
  }

  // The elements of a tuple: those it was constructed from, or unpacked before `before`. An unused
  // tuple needs no unpacking: its elements are unused too.
  std::vector<Value*> parts_of(Value* tuple, Node* before) {
    if (Node* node = built(tuple)) return node->inputs();
    if (tuple->node()->is("prim::Uninitialized")) {
      std::vector<Value*> parts;
      for (const TypeRef& type : tuple->type()->inner()) {
        Node* part = graph_.create("prim::Uninitialized", {}, 0)->insert_before(before);
        parts.push_back(part->add_output(type));
      }
      return parts;
    }
    Node* node = graph_.create("prim::TupleUnpack", {tuple}, 0)->insert_before(before);
    for (const TypeRef& type : tuple->type()->inner()) node->add_output(type);
    return node->outputs();
  }

  // Constructs a tuple of these elements, of the type of `tuple_value`.
  Value* build(const std::vector<Value*>& parts, const Value* tuple_value, Node* before) {
    Node* node = graph_.create("prim::TupleConstruct", parts, 0)->insert_before(before);
    return node->add_output(tuple_value->type());
  }

  bool lower_if(Node* node) {
    bool changed = false;
    for (size_t i = node->outputs().size(); i-- > 0;) {
      Value* output = node->output(i);
      Node* tuples[2] = {built(node->block(0)->returns()[i]), built(node->block(1)->returns()[i])};
      if (!output->type()->is(TypeKind::kTuple) || (!tuples[0] && !tuples[1])) continue;
      if (!has_parts(node->block(0)->returns()[i]) || !has_parts(node->block(1)->returns()[i]))
        continue;
      changed = true;
      Rewrite r(graph_, "an If that returns a tuple returns its parts", {node});
      const size_t n = output->type()->inner().size();
      for (Block* block : node->blocks()) {
        const std::vector<Value*> parts = parts_of(block->returns()[i], block->return_node());
        block->drop_return(i);
        for (Value* part : parts) block->add_return(part);
      }
      std::vector<Value*> parts;
      for (size_t k = 0; k < n; ++k) parts.push_back(node->add_output(output->type()->inner()[k]));
      if (output->has_uses()) output->replace_uses_with(build(parts, output, node->next()));
      node->drop_output(i);
      drop_both(tuples);
    }
    return changed;
  }

  bool lower_loop(Node* node) {
    bool changed = false;
    Block* body = node->block(0);
    for (size_t i = node->outputs().size(); i-- > 0;) {
      Value* output = node->output(i);
      Node* tuples[2] = {built(node->input(i + 2)), built(body->returns()[i + 1])};
      if (!output->type()->is(TypeKind::kTuple) || (!tuples[0] && !tuples[1])) continue;
      if (!has_parts(node->input(i + 2)) || !has_parts(body->returns()[i + 1])) continue;
      changed = true;
      Rewrite r(graph_, "a Loop that carries a tuple carries its parts", {node});
      Value* param = body->params()[i + 1];
      const std::vector<Value*> before = parts_of(node->input(i + 2), node);
      const std::vector<Value*> after = parts_of(body->returns()[i + 1], body->return_node());
      std::vector<Value*> params, outputs;
      for (size_t k = 0; k < before.size(); ++k) {
        const TypeRef& type = output->type()->inner()[k];
        node->add_input(before[k]);
        params.push_back(body->add_param(type));
        body->add_return(after[k]);
        outputs.push_back(node->add_output(type));
      }
      if (param->has_uses()) param->replace_uses_with(build(params, param, body->first()));
      if (output->has_uses()) output->replace_uses_with(build(outputs, output, node->next()));
      node->drop_input(i + 2);
      body->drop_return(i + 1);
      body->drop_param(i + 1);
      node->drop_output(i);
      drop_both(tuples);
    }
    return changed;
  }
};

void lower_all_tuples(Graph& graph) {
  Lowering lowering(graph);
  while (lowering.visit(graph.block())) {
  }
}

}  // namespace

extern const Pass pass_lower_all_tuples;
const Pass pass_lower_all_tuples{
    "lower_all_tuples", "Removes tuples that are built and taken apart again, also across blocks.",
    lower_all_tuples};

}  // namespace uh::jit
