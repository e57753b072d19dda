// batch_mm: merges matrix products.
//
// x @ w.t(), with or without an added bias, becomes one linear(x, w, bias): this saves the
// view, and the product adds the bias. Several linears of one x with constant weights
// (queries, keys and values of a frozen model) become one linear with concatenated weights, if
// these are so large that the longer product outweighs splitting its result. Tolerance: a
// fused bias, and columns in another tile, may change the last bit; without a bias the first
// rule is exact.
#include <algorithm>

#include "generated/ops/join.h"
#include "jit/group/fusible.h"
#include "jit/ir/alias_analysis.h"
#include "jit/pass.h"

namespace uh::jit {
namespace {

constexpr int64_t kLargeWeight = 1 << 16;  // elements of a weight for which a merged product pays

const Dims* sizes_of(const Value* value) {
  const Type& type = *value->type();
  return kind_of(type) ? &*type.facts().sizes : nullptr;
}

bool floating(const Value* value) {
  const auto kind = kind_of(*value->type());
  return kind && is_floating(kind->dtype);
}

// x @ w.t() of a matrix w -> linear(x, w).
void use_linear(Node* node, const AliasDb& info) {
  if (!node->is("aten::mm") && !node->is("aten::matmul")) return;
  Node* turned = node->input(1)->node();
  if (!turned->is("aten::t") || turned->output()->uses().size() != 1) return;
  Value* weight = turned->input(0);
  const Dims* w = sizes_of(weight);
  const Dims* x = sizes_of(node->input(0));
  // A matmul folds the leading dimensions into rows, as linear does.
  if (!w || !x || w->size() != 2 || x->size() < 2 || !floating(weight)) return;
  if (!floating(node->input(0)) || kind_of(*weight->type()) != kind_of(*node->input(0)->type()))
    return;
  if (info.reads_written(turned)) return;
  Graph& graph = node->graph();
  Rewrite r(graph, "x @ w.t() -> linear(x, w)", {node, turned});
  graph.set_insert_point(node);
  Value* const none = graph.insert_constant(IValue());
  Value* new_value = insert_call(graph, "aten::linear", {node->input(0), weight, none});
  new_value->set_type(node->output()->type());
  node->output()->replace_uses_with(new_value);
  graph.set_insert_point(graph.block());
  node->destroy();
  turned->destroy();
}

// linear(x, w) + b -> linear(x, w, b), for a b with one number per column.
void use_bias(Node* node, const AliasDb& info) {
  if (!node->is_op("aten::add.Tensor")) return;
  const IValue* alpha = constant_of(*node->input(2));
  const auto times = alpha ? number_of(*alpha) : std::nullopt;
  if (!times || times->is_complex() || times->to_double() != 1) return;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    Node* product = node->input(side)->node();
    Value* bias = node->input(1 - side);
    if (!product->is("aten::linear") || product->output()->uses().size() != 1) continue;
    if (!constant_of(*product->input(2)) || !constant_of(*product->input(2))->is_none()) continue;
    const Dims *w = sizes_of(product->input(1)), *b = sizes_of(bias);
    if (!w || !b || w->size() != 2 || b->size() != 1 || (*b)[0] < 0 || (*b)[0] != (*w)[0]) continue;
    if (kind_of(*bias->type()) != kind_of(*product->input(1)->type())) continue;
    // The product moves to the sum's position: nothing may write its inputs in between.
    if (info.reads_written(product) || product->owner() != node->owner()) continue;
    Graph& graph = node->graph();
    Rewrite r(graph, "linear(x, w) + b -> linear(x, w, b)", {node, product});
    r.because("the sum is rounded once instead of twice");
    graph.set_insert_point(node);
    Value* new_value =
        insert_call(graph, "aten::linear", {product->input(0), product->input(1), bias});
    new_value->set_type(node->output()->type());
    node->output()->replace_uses_with(new_value);
    graph.set_insert_point(graph.block());
    node->destroy();
    product->destroy();
    return;
  }
}

struct Product {
  Node* node;
  Tensor weight, bias;  // bias: undefined if absent
};

std::optional<Product> large_product(Node* node, const AliasDb& info) {
  if (!node->is("aten::linear")) return std::nullopt;
  const Tensor* w = fixed_tensor(node->input(1), info);
  const IValue* none = constant_of(*node->input(2));
  const Tensor* b = fixed_tensor(node->input(2), info);
  if (!w || w->ndim() != 2 || w->numel() < kLargeWeight || !is_floating(w->dtype()))
    return std::nullopt;
  if (!b && !(none && none->is_none())) return std::nullopt;
  if (b && (b->ndim() != 1 || b->size(0) != w->size(0) || b->dtype() != w->dtype()))
    return std::nullopt;
  return Product{node, *w, b ? *b : Tensor()};
}

void join(const std::vector<Product>& products) {
  std::vector<const Node*> concerned;
  std::vector<Tensor> weights, biases;
  Dims widths;
  for (const Product& product : products) {
    concerned.push_back(product.node);
    weights.push_back(product.weight);
    if (product.bias) biases.push_back(product.bias);
    widths.push_back(product.weight.size(0));
  }
  Node* first = products[0].node;
  Graph& graph = first->graph();
  Rewrite r(graph, "linear(x, w1), linear(x, w2) -> linear(x, [w1; w2]) and its columns",
            concerned);
  r.because(message(products.size(), " products read the same x"));
  const GradMode off(false);
  graph.set_insert_point(first);
  Value* const weight = graph.insert_constant(IValue(ops::cat(weights, 0)));
  Value* const bias =
      graph.insert_constant(biases.empty() ? IValue() : IValue(ops::cat(biases, 0)));
  Value* const all = insert_call(graph, "aten::linear", {first->input(0), weight, bias});
  Value* const sizes = graph.insert_constant(widths);
  Value* const last = graph.insert_constant(int64_t{-1});
  Value* const none = graph.insert_constant(IValue());
  Value* const parts = insert_call(graph, "aten::split_with_sizes", {all, sizes, last});
  Node* unpack = graph.insert(graph.create("prim::ListUnpack", {parts}, products.size()));
  for (size_t i = 0; i < products.size(); ++i) {
    // Contiguous as before: later code may need a view that columns do not allow.
    Value* new_value = insert_call(graph, "aten::contiguous", {unpack->output(i), none});
    Value* output = products[i].node->output();
    new_value->set_type(output->type());
    new_value->add_origin(output->id());
    output->replace_uses_with(new_value);
  }
  graph.set_insert_point(graph.block());
  for (const Product& product : products) product.node->destroy();
}

void join_in(Block& block, const AliasDb& info) {
  std::vector<std::vector<Product>> groups;
  for (Node* node : block.nodes()) {
    for (Block* inner : node->blocks()) join_in(*inner, info);
    auto product = large_product(node, info);
    if (!product) continue;
    const auto fits = [&](const std::vector<Product>& group) {
      const Product& first = group[0];
      return first.node->input(0) == node->input(0) &&
             first.weight.dtype() == product->weight.dtype() &&
             first.weight.size(1) == product->weight.size(1) &&
             static_cast<bool>(first.bias) == static_cast<bool>(product->bias) &&
             info.may_move_up_to(node, first.node);
    };
    const auto group = std::find_if(groups.begin(), groups.end(), fits);
    if (group != groups.end())
      group->push_back(std::move(*product));
    else
      groups.push_back({std::move(*product)});
  }
  for (const auto& group : groups)
    if (group.size() > 1) join(group);
}

void batch_mm(Graph& graph) {
  const AliasDb info(graph);
  const auto each = [&](void (*rule)(Node*, const AliasDb&)) {
    // By id: a rule removes nodes that are still to be visited.
    std::vector<int64_t> all;
    graph.each_node([&](const Node* node) { all.push_back(node->id()); });
    for (const int64_t id : all)
      if (Node* node = graph.node(id)) rule(node, info);
  };
  each(use_linear);
  each(use_bias);
  join_in(*graph.block(), AliasDb(graph));
}

}  // namespace

extern const Pass pass_batch_mm;
const Pass pass_batch_mm{
    "batch_mm", "Makes one product of several, and adds a bias within the product.", batch_mm};

}  // namespace uh::jit
