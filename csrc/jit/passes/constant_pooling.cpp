// constant_pooling: merges equal constants and moves all to the top of the graph.
#include <cstring>
#include <unordered_map>

#include "jit/ir/alias_analysis.h"
#include "jit/ir/constants.h"
#include "jit/ir/effects.h"
#include "jit/pass.h"
#include "tensor/tensor.h"

namespace uh::jit {
namespace {

bool same_content(const Tensor& a, const Tensor& b) {
  if (a.impl() == b.impl()) return true;
  if (!a || !b || a.dtype() != b.dtype() || a.device() != Device::kCPU ||
      b.device() != Device::kCPU || !a.is_contiguous() || !b.is_contiguous() ||
      a.ndim() != b.ndim() || a.keys().has(Key::kAutograd) != b.keys().has(Key::kAutograd))
    return false;
  // A Python number adopts the other operand's dtype; a tensor of the same value does not.
  if (a.impl()->wrapped_number() != b.impl()->wrapped_number()) return false;
  for (int i = 0; i < a.ndim(); ++i)
    if (a.size(i) != b.size(i)) return false;
  const auto bytes = static_cast<size_t>(a.numel() * itemsize(a.dtype()));
  return bytes == 0 || std::memcmp(a.data(), b.data(), bytes) == 0;
}

bool are_one(const Node* a, const Node* b) {
  const IValue& first = a->attribute("value")->value;
  const IValue& second = b->attribute("value")->value;
  if (!same_type(*a->output()->type(), *b->output()->type())) return false;
  const Tensor* t = first.get_if<Tensor>();
  const Tensor* u = second.get_if<Tensor>();
  const bool same = t && u ? same_content(*t, *u) : same_constant(first, second);
  if (!same) return false;
  if (is_immutable(first) || (t && t->impl() == u->impl())) return true;
  return is_only_read(a->output()) && is_only_read(b->output());
}

size_t hash_of(const Node* constant) {
  const IValue& value = constant->attribute("value")->value;
  // Tensors share a bucket; their contents are compared.
  return value.get_if<Tensor>() ? 1 : hash_of_constant(value);
}

void constant_pooling(Graph& graph) {
  std::vector<Node*> constants;
  graph.each_node([&](Node* node) {
    if (node->is_constant() && node->outputs().size() == 1) constants.push_back(node);
  });
  std::unordered_map<size_t, std::vector<Node*>> pool;
  Node* last = graph.block()->param_node();  // the last constant at the top
  for (Node* node : constants) {
    std::vector<Node*>& alike = pool[hash_of(node)];
    Node* first = nullptr;
    for (Node* other : alike)
      if (!first && are_one(other, node)) first = other;
    if (first) {
      Rewrite r(graph, "equal constants -> one", {first, node});
      first->output()->add_origin(node->output()->id());
      node->output()->replace_uses_with(first->output());
      node->destroy();
      continue;
    }
    alike.push_back(node);
    if (last->next() != node) {
      Rewrite r(graph, "constants move to the top", {node});
      node->move_before(last->next());
    }
    last = node;
  }
}

}  // namespace

extern const Pass pass_constant_pooling;
const Pass pass_constant_pooling{"constant_pooling",
                                 "Makes equal constants one, and puts all at the top of the graph.",
                                 constant_pooling};

}  // namespace uh::jit
