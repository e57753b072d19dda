// Unpacking of tuples that the graph constructs itself; shared by the passes that lower tuples.
#pragma once

#include "jit/ir/constants.h"
#include "jit/ir/rewrite.h"

namespace uh::jit {

class TakeApart {
 public:
  explicit TakeApart(Graph& graph) : graph_(graph) {}

  // Folds TupleUnpack, TupleIndex and TupleSlice of a TupleConstruct; true if the node was removed.
  bool take_apart(Node* node) {
    if (node->is("prim::TupleUnpack")) return unpack(node);
    if (node->is("prim::TupleIndex")) return index(node);
    return node->is("prim::TupleSlice") && slice(node);
  }

 protected:
  static Node* built(const Value* value) {
    return value->node()->is("prim::TupleConstruct") ? value->node() : nullptr;
  }

  static void drop_unused(Node* construct) {
    if (!construct->output()->has_uses()) construct->destroy();
  }

  Graph& graph_;

 private:
  bool unpack(Node* node) {
    Node* tuple = built(node->input(0));
    if (!tuple) return false;
    Rewrite r(graph_, "a, b = (x, y) -> x, y", {node, tuple});
    for (size_t i = 0; i < node->outputs().size(); ++i)
      node->output(i)->replace_uses_with(tuple->input(i));
    node->destroy();
    drop_unused(tuple);
    return true;
  }

  bool index(Node* node) {
    Node* tuple = built(node->input(0));
    const std::optional<int64_t> i = constant_int(node->input(1));
    if (!tuple || !i) return false;
    const int64_t n = static_cast<int64_t>(tuple->inputs().size());
    if (*i < -n || *i >= n) return false;
    Rewrite r(graph_, "(x, y)[0] -> x", {node, tuple});
    node->output()->replace_uses_with(tuple->input(static_cast<size_t>(*i < 0 ? *i + n : *i)));
    node->destroy();
    drop_unused(tuple);
    return true;
  }

  bool slice(Node* node) {
    Node* tuple = built(node->input(0));
    const Attribute* beg = node->attribute("beg");
    const Attribute* end = node->attribute("end");
    const int64_t* from = beg ? beg->value.get_if<int64_t>() : nullptr;
    const int64_t* to = end ? end->value.get_if<int64_t>() : nullptr;
    if (!tuple || !from || !to) return false;
    const int64_t n = static_cast<int64_t>(tuple->inputs().size());
    if (*from < 0 || *to < *from || *to > n) return false;
    Rewrite r(graph_, "(x, y, z)[1:] -> (y, z)", {node, tuple});
    const std::vector<Value*> parts(tuple->inputs().begin() + *from, tuple->inputs().begin() + *to);
    Node* part = graph_.create("prim::TupleConstruct", parts, 0)->insert_before(node);
    part->add_output(node->output()->type());
    node->output()->replace_uses_with(part->output());
    node->destroy();
    drop_unused(tuple);
    return true;
  }
};

}  // namespace uh::jit
