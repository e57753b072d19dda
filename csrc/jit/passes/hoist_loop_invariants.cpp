// hoist_loop_invariants: computes loop-invariant values once, before the
// loop.
//
// A node is hoisted if its inputs come from outside, nothing that it reads is written in the loop,
// and its results are indistinguishable (a list that is appended to must be new in every
// iteration). A node that may raise is hoisted only if the loop has at least one iteration, and
// only past nodes without side effects: a loop without iterations must not raise, and output keeps
// its order.
#include <algorithm>
#include <memory>

#include "generated/tags.h"
#include "jit/group/fusible.h"
#include "jit/ir/alias_analysis.h"
#include "jit/ir/constants.h"
#include "jit/ir/effects.h"
#include "jit/ir/type_predicates.h"
#include "jit/pass.h"

namespace uh::jit {
namespace {

bool sizes_known(const Value* value) {
  return !value->type()->is(TypeKind::kTensor) || all_known(value->type()->facts().sizes);
}

// True if no input of these types makes the node raise.
bool never_raises(const Node& node) {
  if (!node.op())
    return node.is("prim::Constant") || node.is("prim::ListConstruct") ||
           node.is("prim::TupleConstruct");
  if (node.op()->has_tag(Tag::kNeverRaises)) return true;
  const auto& inputs = node.inputs();
  // A pointwise operator on typed inputs can only fail to broadcast.
  const auto tensors = std::count_if(inputs.begin(), inputs.end(), [](const Value* v) {
    return v->type()->is(TypeKind::kTensor);
  });
  const bool fits = tensors == 1 || (std::all_of(inputs.begin(), inputs.end(), sizes_known) &&
                                     node.outputs().size() == 1 && sizes_known(node.output()));
  return fits && as_step(node, [](Value* v) { return v->type(); }).has_value();
}

bool surely_begins(const Node& loop) {
  const std::optional<int64_t> rounds = constant_int(loop.input(0));
  return rounds && *rounds > 0 && constant_bool(loop.input(1)) == true;
}

class Hoist {
 public:
  explicit Hoist(Graph& graph) : graph_(graph), info_(graph) {}
  void in(Block& block);

 private:
  bool from_outside(const Value* value, const Block& body) const;
  bool may_leave(const Node& node, const Node& loop, bool seen) const;
  void move_out(Node* node, Node* loop);

  Graph& graph_;
  const AliasDb info_;
};

// True if the value is defined before the loop, or is a constant that can be hoisted too.
bool Hoist::from_outside(const Value* value, const Block& body) const {
  if (value->node()->is("prim::Constant")) return true;
  for (const Block* at = value->block(); at; at = at->owner() ? at->owner()->owner() : nullptr)
    if (at == &body) return false;
  return true;
}

bool Hoist::may_leave(const Node& node, const Node& loop, bool seen) const {
  const Block& body = *loop.block(0);
  if (!node.blocks().empty() || node.is("prim::Constant") || node.outputs().empty()) return false;
  if (!is_pure(node)) return false;
  const auto outside = [&](const Value* v) { return from_outside(v, body); };
  if (!std::all_of(node.inputs().begin(), node.inputs().end(), outside)) return false;
  if (!never_raises(node) && (seen || !surely_begins(loop))) return false;
  for (const Value* output : node.outputs()) {
    if (!is_mutable_type(*output->type())) continue;
    if (info_.has_writers(output)) return false;
    if (info_.makes_memory(&node) && info_.escapes(output)) return false;
  }
  return info_.may_move_up_to(&node, loop.prev());
}

void Hoist::move_out(Node* node, Node* loop) {
  Rewrite r(graph_, "the same in every iteration -> before the loop", {node});
  const Block& body = *loop->block(0);
  for (const Value* input : node->inputs())
    if (input->node()->owner() == &body)  // a constant
      input->node()->move_before(loop);
  node->move_before(loop);
}

void Hoist::in(Block& block) {
  for (Node* node : block.nodes()) {
    for (Block* inner : node->blocks()) in(*inner);
    if (!node->is("prim::Loop")) continue;
    bool seen = false;
    for (Node* each : node->block(0)->nodes()) {
      if (may_leave(*each, *node, seen))
        move_out(each, node);
      else
        seen = seen || !is_pure(*each);
    }
  }
}

void hoist_loop_invariants(Graph& graph) { Hoist(graph).in(*graph.block()); }

}  // namespace

extern const Pass pass_hoist_loop_invariants;
const Pass pass_hoist_loop_invariants{
    "hoist_loop_invariants", "Moves results that are the same in every iteration out of a loop.",
    hoist_loop_invariants};

}  // namespace uh::jit
