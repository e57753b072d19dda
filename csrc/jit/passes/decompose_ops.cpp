// decompose: operators that are made of pointwise ones, as those, so that `fuse` sees them.
//
// Every rule gives the very operators that the composite's own kernel calls, so results are equal
// bit for bit. What is not here is better whole: a linear adds its bias within the product, softmax
// and layer_norm walk a row while it lies in the cache.
#include <algorithm>
#include <cmath>
#include <memory>

#include "generated/ops/copy.h"
#include "jit/group/fusible.h"
#include "jit/ir/alias_analysis.h"
#include "jit/pass.h"

namespace uh::jit {
namespace {

// activation.cpp has the same numbers: PyTorch's.
constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

// Whether a value is the same whenever it is read; looked into when it is first asked.
class Unwritten {
 public:
  explicit Unwritten(const Graph& graph) : graph_(graph) {}
  bool holds(const Value* value) {
    if (!info_) info_ = std::make_unique<AliasDb>(graph_);
    return !info_->has_writers(value);
  }

 private:
  const Graph& graph_;
  std::unique_ptr<AliasDb> info_;
};

// The one result stands for the node's, with what was known of it.
void replace(Node* node, Value* new_value) {
  Value* output = node->output();
  if (new_value->type()->is(TypeKind::kTensor) && is_subtype(*output->type(), *new_value->type()))
    new_value->set_type(output->type());
  new_value->add_origin(output->id());
  output->replace_uses_with(new_value);
  Graph& graph = node->graph();
  graph.set_insert_point(graph.block());
  node->destroy();
}

template <class T>
const T* constant(const Node& node, std::string_view argument) {
  const Value* value = node.input(argument);
  const IValue* constant_value = value ? constant_of(*value) : nullptr;
  return constant_value ? constant_value->get_if<T>() : nullptr;
}

std::optional<double> number(const Node& node, std::string_view argument) {
  const Value* value = node.input(argument);
  const IValue* constant = value ? constant_of(*value) : nullptr;
  const auto match = constant ? number_of(*constant) : std::nullopt;
  return match && !match->is_complex() ? std::optional(match->to_double()) : std::nullopt;
}

bool selu(Node* node, Unwritten&) {
  Graph& graph = node->graph();
  Rewrite r(graph, "selu(x) -> elu(x, alpha, scale, 1)", {node});
  graph.set_insert_point(node);
  Value* const alpha = graph.insert_constant(kSeluAlpha);
  Value* const scale = graph.insert_constant(kSeluScale);
  Value* const one = graph.insert_constant(int64_t{1});
  replace(node, insert_call(graph, "aten::elu", {node->input(0), alpha, scale, one}));
  return true;
}

bool celu(Node* node, Unwritten&) {
  const auto alpha = number(*node, "alpha");
  if (!alpha || *alpha == 0) return false;
  Graph& graph = node->graph();
  Rewrite r(graph, "celu(x, alpha) -> elu(x, alpha, 1, 1 / alpha)", {node});
  graph.set_insert_point(node);
  Value* const one = graph.insert_constant(int64_t{1});
  Value* const inverse = graph.insert_constant(1 / *alpha);
  replace(node, insert_call(graph, "aten::elu", {node->input(0), node->input(1), one, inverse}));
  return true;
}

// The weight's one element, or one per channel.
bool prelu(Node* node, Unwritten&) {
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
  Value* const weight = insert_call(graph, "aten::view", {node->input(1), size});
  TensorProperties facts = w.facts();
  facts.sizes = shape;
  facts.strides.reset();
  weight->set_type(tensor_type(facts));
  replace(node, insert_call(graph, "aten::_prelu_kernel", {node->input(0), weight}));
  return true;
}

bool l1_loss(Node* node, Unwritten&) {
  const auto* reduction = constant<int64_t>(*node, "reduction");
  if (!reduction || *reduction < 0 || *reduction > 2) return false;
  Graph& graph = node->graph();
  Rewrite r(graph, "l1_loss(x, y) -> mean(abs(x - y))", {node});
  graph.set_insert_point(node);
  Value* const one = graph.insert_constant(int64_t{1});
  Value* new_value = insert_call(graph, "aten::sub.Tensor", {node->input(0), node->input(1), one});
  new_value = insert_call(graph, "aten::abs", {new_value});
  if (*reduction != 0) {
    Value* const none = graph.insert_constant(IValue());
    Value* const keepdim = graph.insert_constant(false);
    new_value = insert_call(graph, *reduction == 1 ? "aten::mean" : "aten::sum",
                            {new_value, none, keepdim, none});
  }
  replace(node, new_value);
  return true;
}

// A conversion that is known to be one makes a new tensor: _to_copy.
bool to(Node* node, Unwritten&) {
  const Value* expected = node->input("dtype");
  const IValue* constant = expected ? constant_of(*expected) : nullptr;
  const auto dtype = constant ? dtype_of(*constant) : std::nullopt;
  const auto from = kind_of(*node->input(0)->type());
  if (!dtype || !from || from->dtype == *dtype) return false;
  for (const char* other : {"device", "memory_format"}) {
    const Value* value = node->input(other);
    const IValue* argument = value ? constant_of(*value) : nullptr;
    if (value && (!argument || !argument->is_none())) return false;
  }
  Graph& graph = node->graph();
  Rewrite r(graph, "x.to(another dtype) -> a converted copy", {node});
  graph.set_insert_point(node);
  Value* const to = graph.insert_constant(IValue(*dtype));
  Value* const none = graph.insert_constant(IValue());
  replace(node, insert_call(graph, "aten::_to_copy", {node->input(0), to, none, none}));
  return true;
}

bool dropout(Node* node, Unwritten&) {
  const bool* train = constant<bool>(*node, "train");
  const auto p = number(*node, "p");
  if (!p || *p < 0 || *p > 1 || !(*p == 0 || (train && !*train))) return false;
  Rewrite r(node->graph(), "a dropout that drops nothing -> its input", {node});
  replace(node, node->input(0));
  return true;
}

// Gradients are summed to the sizes of what they belong to, which most of them have already.
bool sum_to_size(Node* node, Unwritten&) {
  const auto& sizes = node->input(0)->type()->facts().sizes;
  const IValue* expected = constant_of(*node->input(1));
  if (!sizes || !expected) return false;
  Dims dims;
  if (const Dims* constant_value = expected->get_if<Dims>())
    dims = *constant_value;
  else if (expected->list())
    dims = from_value<Dims>(*expected);
  else
    return false;
  if (dims != *sizes || std::any_of(dims.begin(), dims.end(), [](int64_t n) { return n < 0; }))
    return false;
  Rewrite r(node->graph(), "x.sum_to_size(x.size()) -> x", {node});
  replace(node, node->input(0));
  return true;
}

// A constant tensor of one number per channel, as doubles; `otherwise` where there is none.
std::optional<std::vector<double>> channels_of(const Value& value, int64_t channels, DType dtype,
                                               double otherwise) {
  const IValue* constant = constant_of(value);
  if (constant && constant->is_none())
    return std::vector<double>(static_cast<size_t>(channels), otherwise);
  const Tensor* t = constant ? constant->get_if<Tensor>() : nullptr;
  if (!t || !*t || t->keys().has(Key::kAutograd) || t->dtype() != dtype ||
      t->device() != Device::kCPU || t->numel() != channels)
    return std::nullopt;
  const Tensor dense = ops::contiguous(
      ops::_to_copy(*t, DType::kFloat64, Device::kUndefined, MemoryFormat::kUndefined),
      MemoryFormat::kContiguous);
  return std::vector<double>(dense.data_as<double>(), dense.data_as<double>() + channels);
}

// The channels that a convolution or linear with constant weights makes, and with them that its
// result lies in memory as batch_norm's would; 0 where that is not known.
int64_t channels_made_by(const Node& node, int64_t rank) {
  const bool* transposed = constant<bool>(node, "transposed");
  const bool convolves = node.is("aten::conv1d") || node.is("aten::conv2d") ||
                         node.is("aten::conv3d") ||
                         (node.is("aten::_convolution") && transposed && !*transposed);
  if (!convolves && !(node.is("aten::linear") && rank == 2)) return 0;
  const IValue* weight = constant_of(*node.input(1));
  const Tensor* t = weight ? weight->get_if<Tensor>() : nullptr;
  return t && *t && t->ndim() >= 2 ? t->size(0) : 0;
}

// In evaluation with constant statistics: what the kernel computes, in its order, so that what
// comes next joins it in one walk.
bool batch_norm(Node* node, Unwritten& unwritten) {
  const bool* training = constant<bool>(*node, "training");
  const auto eps = number(*node, "eps");
  const auto kind = kind_of(*node->input(0)->type());
  if (!training || *training || !eps || !kind || kind->zero_dim) return false;
  if (kind->dtype != DType::kFloat32 && kind->dtype != DType::kFloat64) return false;
  const int64_t rank = node->input(0)->type()->facts().sizes->ndim();
  const int64_t n = channels_made_by(*node->input(0)->node(), rank);
  if (n == 0 || rank < 2) return false;
  const GradMode off(false);
  auto scale = channels_of(*node->input("weight"), n, kind->dtype, 1);
  auto shift = channels_of(*node->input("bias"), n, kind->dtype, 0);
  auto mean = channels_of(*node->input("running_mean"), n, kind->dtype, 0);
  auto variance = channels_of(*node->input("running_var"), n, kind->dtype, 1);
  if (!scale || !shift || !mean || !variance) return false;
  for (const char* argument : {"weight", "bias", "running_mean", "running_var"})
    if (!unwritten.holds(node->input(argument))) return false;
  if (constant_of(*node->input("running_mean"))->is_none() ||
      constant_of(*node->input("running_var"))->is_none())
    return false;
  for (size_t c = 0; c < scale->size(); ++c) (*scale)[c] *= 1 / std::sqrt((*variance)[c] + *eps);

  Graph& graph = node->graph();
  Rewrite r(graph, "batch_norm(x) -> addcmul(shift, x - mean, scale)", {node});
  graph.set_insert_point(node);
  Dims shape(static_cast<size_t>(rank), 1);
  shape[1] = n;
  const auto insert = [&](const std::vector<double>& numbers) {
    const Tensor result = empty(shape, DType::kFloat64);
    std::copy(numbers.begin(), numbers.end(), result.data_as<double>());
    return graph.insert_constant(
        IValue(ops::_to_copy(result, kind->dtype, Device::kUndefined, MemoryFormat::kUndefined)));
  };
  Value* const one = graph.insert_constant(int64_t{1});
  Value* const apart = insert_call(graph, "aten::sub.Tensor", {node->input(0), insert(*mean), one});
  apart->set_type(node->output()->type());
  replace(node, insert_call(graph, "aten::addcmul", {insert(*shift), apart, insert(*scale), one}));
  return true;
}

struct Rule {
  std::string_view kind;
  bool (*apply)(Node* node, Unwritten& unwritten);
};
constexpr Rule kRules[] = {
    {"aten::selu", selu},
    {"aten::celu", celu},
    {"aten::prelu", prelu},
    {"aten::l1_loss", l1_loss},
    {"aten::to", to},
    {"aten::dropout", dropout},
    {"aten::sum_to_size", sum_to_size},
    {"aten::batch_norm", batch_norm},
};

void decompose_in(Block& block, Unwritten& unwritten) {
  for (Node* node : block.nodes()) {
    for (Block* inner : node->blocks()) decompose_in(*inner, unwritten);
    if (!node->op() || node->outputs().size() != 1) continue;
    for (const Rule& rule : kRules) {
      if (node->kind().text() != rule.kind) continue;
      rule.apply(node, unwritten);
      break;
    }
  }
}

void decompose_ops(Graph& graph) {
  Unwritten unwritten(graph);
  decompose_in(*graph.block(), unwritten);
}

}  // namespace

extern const Pass pass_decompose_ops;
const Pass pass_decompose_ops{
    "decompose_ops", "Writes operators that are made of pointwise ones as those.", decompose_ops};

}  // namespace uh::jit
