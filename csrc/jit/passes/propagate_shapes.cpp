// propagate_shapes: derives the tensor properties (dtype, sizes, strides...) of all Values from
// those of the inputs.
//
// An operator's Meta kernel computes its results' properties from tensors without bytes. If sizes
// are unknown, pointwise operators still determine dtypes and broadcast sizes. An If has the
// properties common to both blocks, a loop those that hold before and after every iteration.
// Nothing is propagated in a graph that changes sizes in place (resize_, t_, out=).
#include <algorithm>
#include <unordered_map>

#include "dispatch/dispatcher.h"
#include "generated/tags.h"
#include "jit/group/fusible.h"
#include "jit/ir/alias_analysis.h"
#include "jit/ir/effects.h"
#include "jit/ir/type_predicates.h"
#include "jit/pass.h"
#include "jit/schema_matching/signature.h"

namespace uh::jit {
namespace {

bool complete(const TensorProperties& facts) {
  return facts.dtype != DType::kUndefined && all_known(facts.sizes);
}

// Broadcasts partly unknown sizes; nullopt if they are incompatible.
std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims result = longer;
  const size_t shift = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    const int64_t x = longer[i + shift], y = shorter[i];
    if (x == y || y == 1) continue;
    if (x > 1 && y > 1) return std::nullopt;
    result[i + shift] = x == 1 ? y : x < 0 ? (y > 1 || y == 0 ? y : -1) : x;
  }
  return result;
}

class ShapePropagation {
 public:
  void visit(const Block& block) {
    for (const Node* node : block.nodes()) visit(*node);
  }
  void forbid_gradients() { gradients_known_ = false; }
  void apply(Graph& graph) const;

 private:
  using Types = std::vector<TypeRef>;
  // The types of a list's elements. `counted` is false if their number depends on a size that was
  // substituted for an unknown one.
  struct Elements {
    Types types;
    bool counted;
  };

  TypeRef type(const Value* value) const {
    const auto it = types_.find(value);
    return it == types_.end() ? value->type() : it->second;
  }
  // Keeps the more specific type: derivations never contradict each other.
  void learn(const Value* value, const TypeRef& type) {
    if (is_subtype(*type, *value->type()))
      types_[value] = type;
    else
      types_.erase(value);
  }
  void visit(const Node& node);
  void visit_if(const Node& node);
  void visit_loop(const Node& node);
  void visit_call(const Node& node);
  bool call_meta(const Node& node, bool exact);
  std::optional<IValue> boxed(const Value& input, const Argument& argument, int64_t unknown);
  void pointwise(const Node& node);
  void result(const Node& node, size_t i, const IValue& output, bool exact);
  TypeRef type_of_result(const Node& node, const Tensor& result, bool exact) const;
  // Types of a list's elements, if no node can have written to it.
  const Elements* elements(const Value& list) const {
    const auto it = lists_.find(&list);
    return it == lists_.end() ? nullptr : &it->second;
  }

  std::unordered_map<const Value*, TypeRef> types_;
  std::unordered_map<const Value*, Elements> lists_;
  bool gradients_known_ = true;
  bool strided_ = true, typed_ = true;  // of the present call
  Device device_ = Device::kUndefined;
  int tensors_ = 0;
};

bool only_read(const Value& list) {
  return std::all_of(list.uses().begin(), list.uses().end(), [](const Use& use) {
    const bool reads = use.node->op() ? !use.node->writes() : use.node->is("prim::ListUnpack");
    return reads && use.node->blocks().empty();
  });
}

void ShapePropagation::visit(const Node& node) {
  // In later iterations of a loop less may be known than in the first.
  for (const Value* output : node.outputs()) {
    types_.erase(output);
    lists_.erase(output);
  }
  if (node.is("prim::If")) return visit_if(node);
  if (node.is("prim::Loop")) return visit_loop(node);
  if (node.is("prim::TupleConstruct")) {
    Types inner;
    for (const Value* input : node.inputs()) inner.push_back(type(input));
    return learn(node.output(), tuple_of(std::move(inner), node.output()->type()->field_names()));
  }
  if (node.is("prim::TupleUnpack")) {
    const TypeRef tuple = type(node.input(0));
    for (size_t i = 0; i < node.outputs().size() && i < tuple->inner().size(); ++i)
      learn(node.output(i), tuple->inner()[i]);
    return;
  }
  if (node.is("prim::ListConstruct")) {
    const bool tensors = std::all_of(node.inputs().begin(), node.inputs().end(),
                                     [](Value* v) { return v->type()->is(TypeKind::kTensor); });
    if (!tensors || node.inputs().empty() || !only_read(*node.output())) return;
    Types types;
    for (const Value* input : node.inputs()) types.push_back(type(input));
    lists_[node.output()] = {std::move(types), true};
    return;
  }
  if (node.is("prim::ListUnpack")) {
    const Elements* items = elements(*node.input(0));
    for (size_t i = 0; items && i < node.outputs().size() && i < items->types.size(); ++i)
      learn(node.output(i), items->types[i]);
    return;
  }
  if (node.op()) visit_call(node);
}

void ShapePropagation::visit_if(const Node& node) {
  for (const Block* block : node.blocks()) visit(*block);
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const TypeRef both =
        unify(type(node.block(0)->returns()[i]), type(node.block(1)->returns()[i]));
    if (both) learn(node.output(i), both);
  }
}

// A carried value has the properties that it starts with and that every iteration preserves.
void ShapePropagation::visit_loop(const Node& node) {
  const Block& body = *node.block(0);
  const size_t carried = node.outputs().size();
  for (size_t i = 0; i < carried; ++i) types_[body.params()[i + 1]] = type(node.input(i + 2));
  for (bool stable = false; !stable;) {
    visit(body);
    stable = true;
    for (size_t i = 0; i < carried; ++i) {
      const Value* param = body.params()[i + 1];
      const TypeRef before = type(param);
      TypeRef both = unify(before, type(body.returns()[i + 1]));
      if (!both) both = param->type();
      if (same_type(*before, *both)) continue;
      types_[param] = both;
      stable = false;
    }
  }
  for (size_t i = 0; i < carried; ++i) {
    const TypeRef match = type(body.params()[i + 1]);
    learn(body.params()[i + 1], match);
    learn(node.output(i), match);
  }
}

// An input for the Meta kernel: a tensor without bytes, or its constant value.
std::optional<IValue> ShapePropagation::boxed(const Value& input, const Argument& argument,
                                              int64_t unknown) {
  const auto tensor = [&](const TypeRef& t) -> Tensor {
    if (!t->is(TypeKind::kTensor)) return Tensor();
    const TensorProperties& facts = t->facts();
    if (facts.dtype == DType::kUndefined || !facts.sizes) return Tensor();
    Dims sizes = *facts.sizes;
    for (int64_t& n : sizes)
      if (n < 0) n = unknown;
    ++tensors_;
    typed_ = typed_ || is_floating(facts.dtype) || is_complex(facts.dtype);
    if (device_ == Device::kUndefined) device_ = facts.device;
    const auto& strides = facts.strides;
    if (!all_known(strides) || strides->size() != sizes.size()) {
      strided_ = false;
      return empty(sizes, facts.dtype, Device::kMeta);
    }
    return empty_strided(sizes, *strides, facts.dtype, Device::kMeta);
  };
  const TypeRef t = type(&input);
  if (argument.type.base() == SchemaKind::kDevice) {
    const IValue* constant = constant_of(input);
    if (!constant) return std::nullopt;
    if (const auto* device = constant->get_if<Device>()) device_ = *device;
    return IValue(Device::kMeta);
  }
  if (t->is(TypeKind::kTensor)) {
    const Tensor result = tensor(t);
    return result ? std::optional<IValue>(result) : std::nullopt;
  }
  if (const IValue* constant = constant_of(input)) {
    if (argument.type.base() == SchemaKind::kScalarType && !constant->is_none()) typed_ = true;
    if (constant->get_if<std::vector<Tensor>>() || constant->get_if<Ref<Container>>())
      return constant->list() && t->element()->is(TypeKind::kInt) ? std::optional(*constant)
                                                                  : std::nullopt;
    return *constant;
  }
  if (const Elements* items = elements(input)) {
    std::vector<Tensor> list;
    for (const TypeRef& each : items->types) {
      list.push_back(tensor(each));
      if (!list.back()) return std::nullopt;
    }
    return IValue(std::move(list));
  }
  if (input.node()->is("prim::ListConstruct") && only_read(input)) {
    std::vector<IValue> items;
    for (const Value* item : input.node()->inputs()) {
      if (!item->constant() || item->constant()->get_if<Tensor>()) return std::nullopt;
      items.push_back(*item->constant());
    }
    return make_container<List>(std::move(items));
  }
  return std::nullopt;
}

TypeRef ShapePropagation::type_of_result(const Node& node, const Tensor& result, bool exact) const {
  TensorProperties facts;
  // Floats computed from integers, or from no tensor, have the default dtype at run time.
  if (typed_ || !(is_floating(result.dtype()) || is_complex(result.dtype())))
    facts.dtype = result.dtype();
  facts.sizes = exact ? result.sizes() : Dims(result.sizes().size(), -1);
  if (exact && strided_) facts.strides = result.strides();
  facts.device = device_;
  if (gradients_known_) {
    const bool none = std::all_of(node.inputs().begin(), node.inputs().end(), [&](Value* input) {
      const TypeRef t = type(input);
      if (t->is(TypeKind::kTensor)) return t->facts().requires_grad == false;
      const Elements* items = elements(*input);
      return items ? std::all_of(items->types.begin(), items->types.end(),
                                 [](const TypeRef& e) { return e->facts().requires_grad == false; })
                   : !t->is(TypeKind::kList) || !t->element()->is(TypeKind::kTensor);
    });
    if (none) facts.requires_grad = false;
  }
  return tensor_type(std::move(facts));
}

void ShapePropagation::result(const Node& node, size_t i, const IValue& result, bool exact) {
  const Value* output = node.output(i);
  if (const Tensor* t = result.get_if<Tensor>()) {
    if (*t) learn(output, type_of_result(node, *t, exact));
    return;
  }
  std::vector<Tensor> tensors;
  if (const auto* list = result.get_if<std::vector<Tensor>>()) tensors = *list;
  if (tensors.empty() || !only_read(*output)) return;
  Types types;
  for (const Tensor& t : tensors) types.push_back(type_of_result(node, t, exact));
  lists_[output] = {std::move(types), exact};
}

// Runs the Meta kernel; false if that is impossible or it throws.
bool ShapePropagation::call_meta(const Node& node, bool exact) {
  const FunctionSchema& schema = node.op()->schema();
  strided_ = true;
  typed_ = false;
  device_ = Device::kUndefined;
  tensors_ = 0;
  Stack stack;
  bool placed = false;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Argument& argument = schema.arguments[i];
    // An unknown size is 2 here: 1 would broadcast.
    auto value = boxed(*node.input(i), argument, 2);
    if (!value) return false;
    placed = placed || argument.type.base() == SchemaKind::kDevice;
    stack.push_back(std::move(*value));
  }
  if (tensors_ == 0 && !placed) return false;
  const GradMode off(false);
  try {
    const_cast<OperatorInfo*>(node.op())->call_boxed(stack);
  } catch (const Error&) {
    return false;  // no such kernel, data-dependent sizes, or an error that the run will raise
  }
  if (stack.size() != node.outputs().size()) return false;
  for (size_t i = 0; i < stack.size(); ++i) result(node, i, stack[i], exact);
  return true;
}

void ShapePropagation::pointwise(const Node& node) {
  const auto result = as_step(node, [&](Value* v) { return type(v); });
  if (!result) return;
  TensorProperties facts;
  facts.device = Device::kCPU;
  Dims sizes;
  bool typed = false;
  for (const Value* input : node.inputs()) {
    const TypeRef t = type(input);
    if (!t->is(TypeKind::kTensor)) continue;
    typed = typed || is_floating(t->facts().dtype) || is_complex(t->facts().dtype);
    if (t->facts().device == Device::kUndefined) facts.device = Device::kUndefined;
    const auto both = broadcast(sizes, *t->facts().sizes);
    if (!both) return;
    sizes = *both;
  }
  if (typed || !(is_floating(result->dtype) || is_complex(result->dtype)))
    facts.dtype = result->dtype;
  facts.sizes = sizes;
  const bool none = std::all_of(node.inputs().begin(), node.inputs().end(), [&](Value* input) {
    const TypeRef t = type(input);
    return !t->is(TypeKind::kTensor) || t->facts().requires_grad == false;
  });
  if (gradients_known_ && none) facts.requires_grad = false;
  learn(node.output(), tensor_type(std::move(facts)));
}

void ShapePropagation::visit_call(const Node& node) {
  const bool tensors =
      std::any_of(node.outputs().begin(), node.outputs().end(), [](const Value* output) {
        const Type& t = *output->type();
        return t.is(TypeKind::kTensor) ||
               (t.is(TypeKind::kList) && t.element()->is(TypeKind::kTensor));
      });
  if (!tensors || node.op()->name_space() != "aten") return;
  if (!returned_inputs(node).empty())
    return;  // the written tensor, whose type was propagated at its definition
  if (node.inputs().size() != node.op()->schema().arguments.size()) return;
  const bool exact = std::all_of(node.inputs().begin(), node.inputs().end(), [&](Value* input) {
    const TypeRef t = type(input);
    if (const Elements* items = elements(*input))
      return items->counted && std::all_of(items->types.begin(), items->types.end(),
                                           [](const TypeRef& e) { return complete(e->facts()); });
    return !t->is(TypeKind::kTensor) || complete(t->facts());
  });
  if (exact && call_meta(node, true)) return;
  pointwise(node);
  if (exact || types_.count(node.outputs().empty() ? nullptr : node.output(0))) return;
  // Rank and dtype hold for any sizes, unless a size of 1 removes a dimension.
  if (node.op()->has_tag(Tag::kRankDependsOnSizes) || call_meta(node, false)) return;
  const TypeRef first = node.inputs().empty() ? nullptr : type(node.input(0));
  if (!first || !kind_of(*first) || node.outputs().size() != 1) return;
  const bool product = node.op()->has_tag(Tag::kWeightedProduct);
  const TypeRef weight = product ? type(node.input(1)) : nullptr;
  const bool matrix = weight && kind_of(*weight) && weight->facts().sizes->size() == 2;
  // Its requirements on sizes are unknown, but the result has this dtype and rank.
  if (!matrix && !node.op()->has_tag(Tag::kKeepsRankAndDtype)) return;
  TensorProperties facts;
  facts.dtype = first->facts().dtype;
  facts.sizes = Dims(first->facts().sizes->size(), -1);
  facts.device = first->facts().device;
  learn(node.output(), tensor_type(std::move(facts)));
}

void ShapePropagation::apply(Graph& graph) const {
  const auto update = [&](const Node* node) {
    const auto news = [&](const Value* v) {
      const auto it = types_.find(v);
      return it != types_.end() && !same_type(*it->second, *v->type()) &&
             is_subtype(*it->second, *v->type());
    };
    const auto& outputs = node->outputs();
    if (std::none_of(outputs.begin(), outputs.end(), news)) return;
    Rewrite r(graph, "the type of a tensor follows from its operator's inputs", {node});
    for (Value* output : outputs)
      if (news(output)) output->set_type(types_.at(output));
  };
  graph.each_node([&](Node* node) {
    for (const Block* block : node->blocks()) update(block->param_node());
    update(node);
  });
}

void propagate_shapes(Graph& graph) {
  ShapePropagation propagation;
  bool resized = false, written = false;
  graph.each_node([&](Node* node) {
    resized = resized || changes_shape(*node);
    written = written || !written_inputs(*node).empty();
  });
  if (resized) return;
  if (written) propagation.forbid_gradients();  // x.add_(y) requires a gradient if y does
  propagation.visit(*graph.block());
  propagation.apply(graph);
}

}  // namespace

extern const Pass pass_propagate_shapes;
const Pass pass_propagate_shapes{
    "propagate_shapes", "Finds dtype, sizes and strides of every tensor from those of the inputs.",
    propagate_shapes};

}  // namespace uh::jit
