// remove_mutation: x.relu_() becomes x.relu() if the difference is not observable, so that it can
// join a group.
//
// The written tensor must have been created in the same block without aliases (no view, no list
// that holds it), and the functional operator must give the same dtype and sizes. No backward pass
// may depend on the write, which makes it fail if the tensor was saved. Uses before the write read
// the old tensor, later ones the new one.
#include <algorithm>
#include <memory>

#include "dispatch/dispatcher.h"
#include "generated/tags.h"
#include "jit/group/fusible.h"
#include "jit/group/saved_for_backward.h"
#include "jit/ir/alias_analysis.h"
#include "jit/ir/type_predicates.h"
#include "jit/pass.h"
#include "jit/schema_matching/signature.h"

namespace uh::jit {
namespace {

// "aten::relu" for "aten::relu_"; null if no operator has the same arguments.
const OperatorInfo* without_write(const Node& node) {
  if (!node.op() || node.op()->name_space() != "aten" || returned_inputs(node).size() != 1)
    return nullptr;
  const FunctionSchema& schema = node.op()->schema();
  if (!node.op()->has_tag(Tag::kInplace)) return nullptr;
  std::string name = "aten::" + schema.full_name();
  name.erase(std::string_view("aten::").size() + schema.name().size() - 1, 1);  // the last _
  const OperatorInfo* match = Dispatcher::instance().find(name);
  if (!match || match->schema().returns.size() != 1) return nullptr;
  const auto& inplace = schema.arguments;
  const auto& functional = match->schema().arguments;
  const bool alike = inplace.size() == functional.size() &&
                     std::equal(inplace.begin(), inplace.end(), functional.begin(),
                                [](const Argument& a, const Argument& b) {
                                  return a.name == b.name && a.keyword_only == b.keyword_only;
                                });
  const auto written =
      std::count_if(inplace.begin(), inplace.end(), [](const Argument& a) { return a.is_write(); });
  return alike && written == 1 && inplace[0].is_write() ? match : nullptr;
}

// True if the other operands cannot broadcast the result beyond the written tensor's size.
bool keeps_sizes(const Node& node) {
  const auto& sizes = node.input(0)->type()->facts().sizes;
  return std::all_of(node.inputs().begin() + 1, node.inputs().end(), [&](const Value* v) {
    if (!v->type()->is(TypeKind::kTensor)) return true;
    const auto& other = v->type()->facts().sizes;
    if (!other) return false;
    return other->empty() || v == node.input(0) ||
           (all_known(sizes) && all_known(other) && *sizes == *other);
  });
}

bool alone(const Value* value, const AliasDb& info) {
  bool shared = false;
  const auto look = [&](const std::vector<Value*>& values) {
    for (const Value* other : values)
      shared =
          shared || (other != value && other->has_uses() && info.may_contain_alias(value, other));
  };
  const Graph& graph = value->graph();
  look(graph.inputs());
  graph.each_node([&](Node* node) {
    look(node->outputs());
    for (const Block* block : node->blocks()) look(block->params());
  });
  return !shared;
}

// True if the write makes a backward pass fail.
bool spoils_gradients(const Node& write) {
  const Value& written = *write.input(0);
  if (!may_want_gradients(write.graph())) return false;
  const auto& uses = written.uses();
  return saves_result(*written.node()) ||
         std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
           return use.node != &write && is_done_after(write, *use.node) &&
                  saves_input(*use.node, use.index);
         });
}

bool remove_write(Node* node, const AliasDb& info) {
  const OperatorInfo* op = without_write(*node);
  if (!op) return false;
  Value* written = node->input(0);
  const auto kind = kind_of(*written->type());
  if (!kind || written->is_param() || written->node()->owner() != node->owner()) return false;
  if (!info.makes_memory(written->node()) || !keeps_sizes(*node) || !alone(written, info) ||
      spoils_gradients(*node))
    return false;
  Graph& graph = node->graph();
  // Tests a node in a scratch graph; it is created in the real graph only if it is used.
  GraphRef scratch = make_ref<Graph>();
  const Graph::ValueMap find = [&](Value* v) {
    if (v->node()->is("prim::Constant"))
      return scratch->insert(scratch->clone(v->node(), find))->output();
    return scratch->add_input("", v->type());
  };
  std::vector<Value*> arguments;
  for (Value* input : node->inputs()) arguments.push_back(find(input));
  const Node* tried = scratch->create_call(*op, arguments);
  const auto result = as_step(*tried, [](Value* v) { return v->type(); });
  if (!result || !(*result == *kind)) return false;

  Rewrite r(graph, "x.op_() -> another tensor, x.op()", {node});
  r.because("the written tensor has no other holder");
  graph.set_insert_point(node);
  Value* fresh = graph.insert(graph.create_call(*op, node->inputs()))->output();
  graph.set_insert_point(graph.block());
  fresh->set_type(written->type());
  fresh->add_origin(written->id());
  written->replace_uses_after(node, fresh);
  node->output()->replace_uses_with(fresh);
  node->destroy();
  return true;
}

void remove_mutation(Graph& graph) {
  std::vector<int64_t> writes;
  graph.each_node([&](const Node* node) {
    if (without_write(*node)) writes.push_back(node->id());
  });
  std::unique_ptr<AliasDb> info;
  for (const int64_t id : writes) {
    if (!info) info = std::make_unique<AliasDb>(graph);
    // Nothing is known of the new tensor yet, and the next write may be to it.
    if (remove_write(graph.node(id), *info)) info.reset();
  }
}

}  // namespace

extern const Pass pass_remove_mutation;
const Pass pass_remove_mutation{
    "remove_mutation", "Makes new tensors instead of writing those without another holder.",
    remove_mutation};

}  // namespace uh::jit
