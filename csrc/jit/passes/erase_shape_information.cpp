// erase_shape_information: removes tensor properties that were only observed by a trace.
//
// A traced graph's types have the sizes and strides of its example inputs, also in code that was
// traced and inlined. Only the graph's inputs keep them: those are guarded. As in PyTorch, a
// number that was traced in place of a tensor is a 0-d tensor there; it becomes Python's number
// again.
#include <algorithm>

#include "jit/pass.h"
#include "jit/schema_matching/signature.h"
#include "ops/copy/element.h"

namespace uh::jit {
namespace {

void erase(Graph& graph, Node* node, const std::vector<Value*>& values) {
  for (Value* value : values) {
    TypeRef plain = unshaped(value->type());
    if (same_type(*plain, *value->type())) continue;
    Rewrite rewrite(graph, "Float(2, 3) -> Tensor", {node});
    rewrite.because("the types of a trace are those of its example inputs");
    value->set_type(std::move(plain));
  }
}

IValue number_in(const Tensor& t) {
  const Scalar number = read_scalar(t);
  if (number.kind() == Scalar::Kind::kBool) return number.to_bool();
  if (number.is_float()) return number.to_double();
  return number.is_complex() ? IValue(number) : IValue(number.to_int());
}

bool takes_number(const Use& use) {
  if (!use.node->op()) return false;
  const auto& parameters = signature_of(*use.node->op()).parameters;
  return use.index < parameters.size() && parameters[use.index].takes_number;
}

void as_number(Graph& graph, Node* node) {
  const IValue* constant = node->output()->constant();
  const Tensor* t = constant ? constant->get_if<Tensor>() : nullptr;
  if (!t || !*t || !t->impl()->wrapped_number()) return;
  const std::vector<Use> uses = node->output()->uses();
  if (uses.empty() || !std::all_of(uses.begin(), uses.end(), takes_number)) return;
  Rewrite rewrite(graph, "{2} -> 2", {node});
  rewrite.because("Python had a number here");
  Node* number = graph.create_constant(number_in(*t))->insert_before(node);
  node->output()->replace_uses_with(number->output());
  node->destroy();
}

void erase_shape_information(Graph& graph) {
  std::vector<Node*> constants;
  graph.each_node([&](Node* node) {
    // A constant's type describes the tensor itself.
    if (node->is("prim::Constant"))
      constants.push_back(node);
    else
      erase(graph, node, node->outputs());
    for (Block* block : node->blocks()) erase(graph, node, block->params());
  });
  for (Node* node : constants) as_number(graph, node);
}

}  // namespace

extern const Pass pass_erase_shape_information;
const Pass pass_erase_shape_information{"erase_shape_information",
                                        "Types forget what a trace saw of its example inputs.",
                                        erase_shape_information};

}  // namespace uh::jit
