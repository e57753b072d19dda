// The Values of tensors, of modules' attributes and of containers in a trace.
#include "autograd/autograd_meta.h"
#include "jit/trace/tracing_state.h"

namespace uh::jit {

void TracingState::know(const Tensor& tensor, Value* value) {
  const auto [it, fresh] =
      values_.insert_or_assign(tensor.impl(), TracedValue{tensor, value, ++last_time_});
  if (!fresh || !events::on()) return;
  if (!holders_) holders_ = std::make_unique<HolderTracker>(events::Holder::kTrace, graph_->id());
  holders_->take(value->id(), tensor);
}

const TracingState::TracedValue* TracingState::same_memory(const Tensor& tensor) const {
  const TracedValue* result = nullptr;
  for (const auto& [impl, known] : values_) {
    const Tensor& t = known.tensor;
    if (t.storage() == tensor.storage() && t.offset() == tensor.offset() &&
        t.dtype() == tensor.dtype() && t.sizes() == tensor.sizes() &&
        t.strides() == tensor.strides() && (!result || result->when < known.when))
      result = &known;
  }
  return result;
}

void TracingState::set_names(std::vector<std::pair<const TensorImpl*, std::string>> names) {
  names_.clear();
  for (auto& [impl, name] : names) names_.emplace(impl, std::move(name));  // the first one counts
}

void take_name(Value* value, const std::string& name) {
  Graph& graph = value->graph();
  std::string full = plain_name(name);
  if (!full.empty() && full[0] >= '0' && full[0] <= '9') full = "_" + full;
  if (Value* before = graph.value_named(full); before && before != value) {
    // Finds the first free odd number by bisection, as all below it are taken.
    const auto numbered = [&](int64_t k) { return full + "." + std::to_string(2 * k + 1); };
    int64_t occupied = -1, free = 0;
    for (int64_t step = 1; graph.value_named(numbered(free)); step *= 2) {
      occupied = free;
      free += step;
    }
    while (free - occupied > 1) {
      const int64_t middle = occupied + (free - occupied) / 2;
      (graph.value_named(numbered(middle)) ? occupied : free) = middle;
    }
    before->set_name(numbered(free));
  }
  value->set_name(full);
}

// Names an operator's operand like its Python variable.
Value* TracingState::used(const TensorImpl* impl, Value* value) {
  if (value->has_name()) return value;
  if (const auto it = names_.find(impl); it != names_.end()) take_name(value, it->second);
  return value;
}

// Unpacks an input tuple or list of tensors, at the beginning of the graph.
void TracingState::know_parts(const IValue& value, Value* container) {
  if (const Tensor* t = value.get_if<Tensor>()) {
    know(*t, container);
    return;
  }
  const std::vector<IValue>* items = nullptr;
  if (const Tuple* tuple = value.tuple()) items = &tuple->items;
  if (const List* list = value.list()) items = &list->items;
  if (const Dict* dict = value.dict()) {
    for (const auto& [key, item] : dict->items()) {
      Value* k = graph_->insert_constant(key);
      Node* get = graph_->insert(graph_->create("aten::__getitem__", {container, k}, 0));
      know_parts(item, get->add_output(type_of(item)));
    }
  }
  if (!items) return;
  Node* unpack = hide_span(graph_->insert(
      graph_->create(value.tuple() ? "prim::TupleUnpack" : "prim::ListUnpack", {container}, 0)));
  for (const IValue& item : *items) know_parts(item, unpack->add_output(type_of(item)));
}

Value* TracingState::add_input(std::string_view name, const IValue& value) {
  Value* input = graph_->add_input(name, type_of(value));
  know_parts(value, input);
  return input;
}

Value* TracingState::add_self(const IValue& module) {
  const Object* self = module.object();
  check_kind(self != nullptr, ErrorKind::kType, "trace: the module is a ", module.type_name());
  Value* input = graph_->add_input("self", type_of(module));
  objects_[self] = input;
  scopes_.self = self;
  find_attributes(self);
  return input;
}

// Registers attributes; one that is reached again keeps its first path.
void TracingState::find_attributes(const Object* module) {
  const auto& type = static_cast<const ClassType&>(*module->type.get());
  for (size_t i = 0; i < module->slots.size(); ++i) {
    const auto& [name, attribute_type, is_parameter, is_buffer] = type.attributes()[i];
    const AttributeRef ref{module, name, attribute_type};
    if (const Tensor* t = module->slots[i].get_if<Tensor>();
        t && *t && !attribute_refs_.try_emplace(t->impl(), ref).second)
      scopes_.shared.push_back(value_of(*t));
    if (const Object* inner = module->slots[i].object();
        inner && inner != scopes_.self && scopes_.modules.try_emplace(inner, ref).second)
      find_attributes(inner);
  }
}

// A Value at the beginning of the graph; make_methods replaces its uses by GetAttrs.
Value* TracingState::placeholder(const AttributeRef& ref, TypeRef type) {
  Node* node = graph_->create("prim::GetAttr", {}, 0);
  node->insert_after(graph_->block()->param_node());
  node->set_attribute("name", IValue(ref.attribute));
  Value* value = node->add_output(std::move(type));
  scopes_.attributes.emplace(value, ref);
  return value;
}

Value* TracingState::attribute_of(const TensorImpl* impl) {
  const auto it = attribute_refs_.find(impl);
  if (it == attribute_refs_.end()) return nullptr;
  const AttributeRef& ref = it->second;
  const IValue& slot = ref.owner->slots[static_cast<size_t>(
      static_cast<const ClassType&>(*ref.owner->type.get()).slot(ref.attribute))];
  return placeholder(ref, type_of(slot));
}

Value* TracingState::build(Symbol kind, const std::vector<Value*>& parts, TypeRef type) {
  Node* node = graph_->insert(graph_->create(kind, parts, 0));
  node->add_output(std::move(type));
  return hide_span(node)->output();
}

Value* TracingState::value_of(const IValue& value) {
  if (const Tensor* t = value.get_if<Tensor>(); t && *t) {
    if (const auto it = values_.find(t->impl()); it != values_.end())
      return used(t->impl(), it->second.value);
    if (Value* attribute = attribute_of(t->impl())) {
      know(*t, attribute);
      return used(t->impl(), attribute);
    }
    if (const TracedValue* same = same_memory(*t)) {
      Value* value = same->value;
      // x.data: created without an operator, with its own version counter.
      if (&same->tensor.impl()->counter() != &t->impl()->counter()) {
        record("prim::data", Stack{IValue(same->tensor)}, *t);
        return used(t->impl(), values_.at(t->impl()).value);
      }
      know(*t, value);
      return value;
    }
    check(!autograd::requires_grad(*t) || !grad_enabled(),
          "trace: a tensor that requires a gradient is neither an input of the trace nor an "
          "attribute of its module, and cannot become a constant; detach() it, or make it either");
    // A separate constant: later writes by Python are not in the graph.
    Value* constant = graph_->insert_constant(value);
    know(*t, constant);
    return constant;
  }
  if (enum_of(value)) return graph_->insert_constant(value);
  if (const Object* object = value.object()) return object_value(object);
  const auto build = [&](Symbol kind, const std::vector<IValue>& items) {
    std::vector<Value*> parts;
    bool gaps = false;
    for (const IValue& item : items) {
      parts.push_back(value_of(item));
      gaps = gaps || parts.back()->type()->is(TypeKind::kNone);
    }
    if (value.tuple()) {
      std::vector<TypeRef> types;
      for (const Value* part : parts) types.push_back(part->type());
      return this->build(kind, parts, tuple_of(std::move(types)));
    }
    const bool tensors = value.get_if<std::vector<Tensor>>() != nullptr;
    return this->build(kind, parts,
                       gaps && tensors ? list_of(optional_of(tensor_type())) : type_of(value));
  };
  if (const auto* tensors = value.get_if<std::vector<Tensor>>()) {
    std::vector<IValue> items;
    for (const Tensor& t : *tensors) items.push_back(t ? IValue(t) : IValue());
    return build("prim::ListConstruct", items);
  }
  if (const auto* dims = value.get_if<Dims>()) {
    std::vector<IValue> items(dims->begin(), dims->end());
    return build("prim::ListConstruct", items);
  }
  if (const List* list = value.list()) return build("prim::ListConstruct", list->items);
  if (const Tuple* tuple = value.tuple()) return build("prim::TupleConstruct", tuple->items);
  if (const Dict* dict = value.dict()) {
    std::vector<IValue> items;
    for (const auto& [k, v] : dict->items()) {
      items.push_back(k);
      items.push_back(v);
    }
    return build("prim::DictConstruct", items);
  }
  Value* constant = graph_->insert_constant(value);
  if (value.is_none()) hide_span(constant->node());
  return constant;
}

}  // namespace uh::jit
