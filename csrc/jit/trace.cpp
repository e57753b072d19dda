#include "jit/trace.h"
#include "autograd/meta.h"

#include <memory>

#include "tensor/call_scope.h"

namespace uh::jit {
namespace {

thread_local std::unique_ptr<Tracing> t_tracing;

void record_call(const OperatorInfo& op, const Stack& arguments, const Stack& results) {
  if (t_tracing) t_tracing->record(op, arguments, results);
}

}  // namespace

// Once, before any thread: who has no key Tracer never asks for it.
[[maybe_unused]] const bool g_told = (g_tracer = &record_call) != nullptr;

Tracing::Tracing(std::string name) : graph_(make_ref<Graph>()) {
  graph_->set_name(std::move(name));
}

void Tracing::begin(std::string name) {
  check(!t_tracing, "trace: this thread is tracing already; a trace is not made inside of another");
  t_tracing.reset(new Tracing(std::move(name)));
  t_state.included = t_state.included | Key::kTracer;
}

bool Tracing::on() { return t_tracing != nullptr; }

Tracing& Tracing::current() {
  check(t_tracing != nullptr, "trace: this thread is not tracing");
  return *t_tracing;
}

void Tracing::abort() {
  t_state.included = t_state.included - Key::kTracer;
  t_tracing.reset();
}

void Tracing::know(const Tensor& tensor, Value* value) {
  values_[tensor.impl()] = {tensor, value, ++told_};
}

const Tracing::Known* Tracing::same_memory(const Tensor& tensor) const {
  const Known* found = nullptr;
  for (const auto& [impl, known] : values_) {
    const Tensor& t = known.tensor;
    if (t.storage() == tensor.storage() && t.offset() == tensor.offset() &&
        t.dtype() == tensor.dtype() && t.sizes() == tensor.sizes() &&
        t.strides() == tensor.strides() && (!found || found->when < known.when))
      found = &known;
  }
  return found;
}

// The parts of a tuple or list of tensors that was given, taken apart at the beginning.
void Tracing::know_parts(const IValue& value, Value* whole) {
  if (const Tensor* t = value.get_if<Tensor>()) {
    know(*t, whole);
    return;
  }
  const std::vector<IValue>* items = nullptr;
  if (const Tuple* tuple = value.tuple()) items = &tuple->items;
  if (const List* list = value.list()) items = &list->items;
  if (const Dict* dict = value.dict()) {
    for (const auto& [key, item] : dict->items()) {
      Value* k = graph_->insert_constant(key);
      Node* get = graph_->insert(graph_->create("aten::__getitem__", {whole, k}, 0));
      know_parts(item, get->add_output(type_of(item)));
    }
  }
  if (!items) return;
  Node* unpack = graph_->insert(
      graph_->create(value.tuple() ? "prim::TupleUnpack" : "prim::ListUnpack", {whole}, 0));
  for (const IValue& item : *items) know_parts(item, unpack->add_output(type_of(item)));
}

Value* Tracing::add_input(std::string_view name, const IValue& value) {
  Value* input = graph_->add_input(name, type_of(value));
  know_parts(value, input);
  return input;
}

Value* Tracing::add_self(const IValue& module) {
  const Object* self = module.object();
  check_kind(self != nullptr, ErrorKind::kType, "trace: the module is a ", module.type_name());
  Value* input = graph_->add_input("self", type_of(module));
  objects_[self] = input;
  std::vector<const Object*> rest{self};
  while (!rest.empty()) {
    const Object* at = rest.back();
    rest.pop_back();
    const auto& type = static_cast<const ClassType&>(*at->type.get());
    for (size_t i = 0; i < at->slots.size(); ++i) {
      const std::string& name = type.attributes()[i].name;
      if (const Tensor* t = at->slots[i].get_if<Tensor>(); t && *t)
        places_.try_emplace(t->impl(), Place{at, name, type.attributes()[i].type});
      if (const Object* inner = at->slots[i].object();
          inner && owners_.try_emplace(inner, at, name).second)
        rest.push_back(inner);
    }
  }
  return input;
}

Value* Tracing::attribute_of(const TensorImpl* impl) {
  const auto place = places_.find(impl);
  if (place == places_.end()) return nullptr;
  // From the module down to the object that has it; read once each.
  std::vector<const Object*> path;
  const Object* at = place->second.owner;
  while (objects_.count(at) == 0) {
    path.push_back(at);
    at = owners_.at(at).first;
  }
  const auto get = [&](Value* owner, const std::string& name, TypeRef type) {
    Node* node = graph_->create("prim::GetAttr", {owner}, 0);
    node->set_attribute("name", IValue(name));
    node->add_output(std::move(type))->set_name(name);
    return graph_->insert(node)->output();
  };
  Value* owner = objects_.at(at);
  for (auto it = path.rbegin(); it != path.rend(); ++it) {
    owner =
        get(owner, owners_.at(*it).second, TypeRef::share(static_cast<Type*>((*it)->type.get())));
    objects_[*it] = owner;
  }
  return get(owner, place->second.attribute, place->second.type);
}

Value* Tracing::value_of(const IValue& value) {
  if (const Tensor* t = value.get_if<Tensor>(); t && *t) {
    if (const auto it = values_.find(t->impl()); it != values_.end()) return it->second.value;
    if (Value* attribute = attribute_of(t->impl())) {
      know(*t, attribute);
      return attribute;
    }
    if (const Known* same = same_memory(*t)) {
      Value* value = same->value;
      know(*t, value);
      return value;
    }
    check(!autograd::requires_grad(*t) || !grad_enabled(),
          "trace: a tensor that requires a gradient is neither an input of the trace nor an "
          "attribute of its module, and cannot become a constant; detach() it, or make it either");
    // A constant of its own: what Python writes to the tensor later is not in the graph.
    Value* constant = graph_->insert_constant(value);
    know(*t, constant);
    return constant;
  }
  const auto build = [&](Symbol kind, const std::vector<IValue>& items) {
    std::vector<Value*> parts;
    for (const IValue& item : items) parts.push_back(value_of(item));
    Node* node = graph_->create(kind, parts, 0);
    node->add_output(type_of(value));
    return graph_->insert(node)->output();
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
  return graph_->insert_constant(value);
}

void Tracing::record(const OperatorInfo& op, const Stack& arguments, const Stack& results) {
  std::vector<Value*> inputs;
  for (const IValue& argument : arguments) inputs.push_back(value_of(argument));
  Node* node = graph_->create(Symbol(op.qualified_name()), inputs, 0);
  node->set_op(&op);
  graph_->insert(node);
  for (const IValue& result : results) {
    Value* output = node->add_output(type_of(result));
    if (const Tensor* t = result.get_if<Tensor>(); t && *t) know(*t, output);
    if (const auto* list = result.get_if<std::vector<Tensor>>()) {
      Node* unpack = graph_->insert(graph_->create("prim::ListUnpack", {output}, 0));
      for (const Tensor& t : *list) {
        Value* item = unpack->add_output(t ? type_of_tensor(t) : tensor_type());
        if (t) know(t, item);
      }
    }
  }
  if (events::on()) {
    events::emit(events::Kind::kTRACED, graph_->id(), node->id(), last_call(), op.recorded_name());
  }
}

void Tracing::value_read(const Tensor& tensor) {
  if (values_.count(tensor.impl()) == 0) return;  // a constant stays one
  const Span& span = graph_->span();
  warnings_.push_back(
      {"Converting a tensor to a Python number or boolean might cause the trace to be incorrect. "
       "We can't record the data flow of Python values, so this value will be treated as a "
       "constant in the future. This means that the trace might not generalize to other inputs!",
       span ? span.source->file : "", span.line});
}

GraphRef Tracing::end(const IValue& result) {
  const std::unique_ptr<Tracing> self = std::move(t_tracing);
  t_state.included = t_state.included - Key::kTracer;
  self->graph_->add_output(self->value_of(result));
  return self->graph_;
}

}  // namespace uh::jit
