// decompose: operators that are made of pointwise ones, as those, so that `fuse` sees them.
//
// Every rule gives the very operators that the composite's own kernel calls, so results are equal
// bit for bit. What is not here is better whole: a linear adds its bias within the product, softmax
// and layer_norm walk a row while it lies in the cache.
#include <algorithm>

#include "dispatch/dispatcher.h"
#include "jit/fusible.h"
#include "jit/pass.h"

namespace uh::jit {
namespace {

// activation.cpp has the same numbers: PyTorch's.
constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

Value* call(Graph& graph, const char* op, const std::vector<Value*>& inputs) {
  const OperatorInfo* found = Dispatcher::instance().find(op);
  check_kind(found != nullptr, ErrorKind::kInternal, "decompose: there is no operator ", op);
  return graph.insert(graph.create_call(*found, inputs))->output();
}

// The one result stands for the node's, with what was known of it.
void replace(Node* node, Value* made) {
  Value* output = node->output();
  if (made->type()->is(TypeKind::kTensor) && is_subtype(*output->type(), *made->type()))
    made->set_type(output->type());
  made->add_origin(output->id());
  output->replace_uses_with(made);
  Graph& graph = node->graph();
  graph.set_insert_point(graph.block());
  node->destroy();
}

template <class T>
const T* constant(const Node& node, std::string_view argument) {
  const Value* value = node.input(argument);
  const IValue* held = value ? constant_of(*value) : nullptr;
  return held ? held->get_if<T>() : nullptr;
}

std::optional<double> number(const Node& node, std::string_view argument) {
  const Value* value = node.input(argument);
  const IValue* held = value ? constant_of(*value) : nullptr;
  const auto found = held ? number_of(*held) : std::nullopt;
  return found && !found->is_complex() ? std::optional(found->to_double()) : std::nullopt;
}

bool selu(Node* node) {
  Graph& graph = node->graph();
  Rewrite r(graph, "selu(x) -> elu(x, alpha, scale, 1)", {node});
  graph.set_insert_point(node);
  Value* const alpha = graph.insert_constant(kSeluAlpha);
  Value* const scale = graph.insert_constant(kSeluScale);
  Value* const one = graph.insert_constant(int64_t{1});
  replace(node, call(graph, "aten::elu", {node->input(0), alpha, scale, one}));
  return true;
}

bool celu(Node* node) {
  const auto alpha = number(*node, "alpha");
  if (!alpha || *alpha == 0) return false;
  Graph& graph = node->graph();
  Rewrite r(graph, "celu(x, alpha) -> elu(x, alpha, 1, 1 / alpha)", {node});
  graph.set_insert_point(node);
  Value* const one = graph.insert_constant(int64_t{1});
  Value* const inverse = graph.insert_constant(1 / *alpha);
  replace(node, call(graph, "aten::elu", {node->input(0), node->input(1), one, inverse}));
  return true;
}

// The weight's one element, or one per channel.
bool prelu(Node* node) {
  const Type& x = *node->input(0)->type();
  const Type& w = *node->input(1)->type();
  const auto a = kind_of(x), b = kind_of(w);
  if (!a || !b || a->dtype != b->dtype || w.facts().sizes->size() > 1) return false;
  const Dims& sizes = *x.facts().sizes;
  const int64_t weights = b->zero_dim ? 1 : (*w.facts().sizes)[0];
  if (weights < 0) return false;
  Dims shape(weights == 1 ? 0 : sizes.size(), 1);
  if (weights != 1) {
    if (sizes.size() < 2 || sizes[1] != weights) return false;
    shape[1] = weights;
  }
  Graph& graph = node->graph();
  Rewrite r(graph, "prelu(x, w) -> _prelu_kernel(x, w.view(...))", {node});
  graph.set_insert_point(node);
  Value* const size = graph.insert_constant(shape);
  Value* const weight = call(graph, "aten::view", {node->input(1), size});
  TensorFacts facts = w.facts();
  facts.sizes = shape;
  facts.strides.reset();
  weight->set_type(tensor_type(facts));
  replace(node, call(graph, "aten::_prelu_kernel", {node->input(0), weight}));
  return true;
}

bool l1_loss(Node* node) {
  const auto* reduction = constant<int64_t>(*node, "reduction");
  if (!reduction || *reduction < 0 || *reduction > 2) return false;
  Graph& graph = node->graph();
  Rewrite r(graph, "l1_loss(x, y) -> mean(abs(x - y))", {node});
  graph.set_insert_point(node);
  Value* const one = graph.insert_constant(int64_t{1});
  Value* made = call(graph, "aten::sub.Tensor", {node->input(0), node->input(1), one});
  made = call(graph, "aten::abs", {made});
  if (*reduction != 0) {
    Value* const none = graph.insert_constant(IValue());
    Value* const keepdim = graph.insert_constant(false);
    made = call(graph, *reduction == 1 ? "aten::mean" : "aten::sum", {made, none, keepdim, none});
  }
  replace(node, made);
  return true;
}

// A conversion that is known to be one makes a new tensor: _to_copy.
bool to(Node* node) {
  const Value* wanted = node->input("dtype");
  const IValue* held = wanted ? constant_of(*wanted) : nullptr;
  const auto dtype = held ? dtype_of(*held) : std::nullopt;
  const auto from = kind_of(*node->input(0)->type());
  if (!dtype || !from || from->dtype == *dtype) return false;
  for (const char* other : {"device", "memory_format"}) {
    const Value* value = node->input(other);
    const IValue* given = value ? constant_of(*value) : nullptr;
    if (value && (!given || !given->is_none())) return false;
  }
  Graph& graph = node->graph();
  Rewrite r(graph, "x.to(another dtype) -> a converted copy", {node});
  graph.set_insert_point(node);
  Value* const to = graph.insert_constant(IValue(*dtype));
  Value* const none = graph.insert_constant(IValue());
  replace(node, call(graph, "aten::_to_copy", {node->input(0), to, none, none}));
  return true;
}

bool dropout(Node* node) {
  const bool* train = constant<bool>(*node, "train");
  const auto p = number(*node, "p");
  if (!p || *p < 0 || *p > 1 || !(*p == 0 || (train && !*train))) return false;
  Rewrite r(node->graph(), "a dropout that drops nothing -> its input", {node});
  replace(node, node->input(0));
  return true;
}

// Gradients are summed to the sizes of what they belong to, which most of them have already.
bool sum_to_size(Node* node) {
  const auto& sizes = node->input(0)->type()->facts().sizes;
  const IValue* wanted = constant_of(*node->input(1));
  if (!sizes || !wanted) return false;
  Dims dims;
  if (const Dims* held = wanted->get_if<Dims>())
    dims = *held;
  else if (wanted->list())
    dims = from_value<Dims>(*wanted);
  else
    return false;
  if (dims != *sizes || std::any_of(dims.begin(), dims.end(), [](int64_t n) { return n < 0; }))
    return false;
  Rewrite r(node->graph(), "x.sum_to_size(x.size()) -> x", {node});
  replace(node, node->input(0));
  return true;
}

struct Rule {
  std::string_view kind;
  bool (*apply)(Node* node);
};
constexpr Rule kRules[] = {
    {"aten::selu", selu},
    {"aten::celu", celu},
    {"aten::prelu", prelu},
    {"aten::l1_loss", l1_loss},
    {"aten::to", to},
    {"aten::dropout", dropout},
    {"aten::sum_to_size", sum_to_size},
};

void decompose_in(Block& block) {
  for (Node* node : block.nodes()) {
    for (Block* inner : node->blocks()) decompose_in(*inner);
    if (!node->op() || node->outputs().size() != 1) continue;
    for (const Rule& rule : kRules) {
      if (node->kind().text() != rule.kind) continue;
      rule.apply(node);
      break;
    }
  }
}

void run(Graph& graph) { decompose_in(*graph.block()); }

}  // namespace

extern const Pass pass_decompose;
const Pass pass_decompose{"decompose", "Writes operators that are made of pointwise ones as those.",
                          run};

}  // namespace uh::jit
