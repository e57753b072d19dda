#include "jit/trace/tracing_state.h"

#include <memory>

#include "dispatch/library.h"
#include "generated/ops/creation.h"
#include "generated/tags.h"
#include "jit/builtins/builtin.h"
#include "jit/function.h"
#include "jit/schema_matching/builtin_calls.h"
#include "jit/schema_matching/signature.h"
#include "jit/trace/pytorch_call.h"
#include "ops/copy/element.h"
#include "tensor/call_scope.h"

namespace uh::jit {
namespace {

thread_local std::unique_ptr<TracingState> t_tracing;

void record_call(const OperatorInfo& op, const Stack& arguments, const Stack& results) {
  if (!t_tracing) return;
  for (const Stack* values : {&arguments, &results})
    for (const IValue& value : *values)
      each_tensor(value, [&](const Tensor& t) {
        check_kind(!t || !t.is_sparse(), ErrorKind::kNotImplemented, "trace: ", op.full_name(),
                   " has a sparse tensor, which graphs do not have: use x.to_dense() before");
      });
  t_tracing->record(op, arguments, results);
}

// The number as a tensor, as in PyTorch's arithmetic; undefined for complex and other values.
Tensor as_tensor(const IValue& value) {
  const Scalar number = from_value<Scalar>(value);
  if (number.is_complex()) return Tensor();
  const DType dtype = number.is_float()                      ? DType::kFloat64
                      : number.kind() == Scalar::Kind::kBool ? DType::kBool
                                                             : DType::kInt64;
  Tensor result = ops::full(Dims{}, number, dtype);
  result.impl()->set_wrapped_number(true);
  return result;
}

// True if the tensor has this value: an argument of the same name may be another one.
bool is_number(const Tensor& tensor, const Scalar& number) {
  const Scalar scalar = read_scalar(tensor);
  return !scalar.is_complex() && !number.is_complex() && scalar.to_double() == number.to_double();
}

bool is_one(const IValue& value) {
  const Scalar number = from_value<Scalar>(value);
  return !number.is_complex() && number.to_double() == 1;
}

// Suspends this thread's trace while code runs that is one node of it; that code may itself trace.
class Aside {
 public:
  Aside() : suspended_(std::move(t_tracing)), included_(t_state.included) {
    t_state.included = t_state.included - Key::kTracer;
  }
  ~Aside() {
    t_tracing = std::move(suspended_);
    t_state.included = included_;
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  std::unique_ptr<TracingState> suspended_;
  const KeySet included_;
};

std::string text_of_object(const Object& object) {
  return message("<", static_cast<const ClassType&>(*object.type.get()).name(), " object>");
}

}  // namespace

// Set at static initialisation, before any thread starts; only calls with the key Tracer read it.
[[maybe_unused]] const bool g_is_tracer_set = (g_tracer = &record_call) != nullptr;

TracingState::TracingState(std::string name) : graph_(make_ref<Graph>()) {
  graph_->set_name(std::move(name));
}

void TracingState::begin(std::string name) {
  check(!t_tracing, "trace: this thread is tracing already; traces cannot be nested");
  t_tracing.reset(new TracingState(std::move(name)));
  t_state.included = t_state.included | Key::kTracer;
}

bool TracingState::on() { return t_tracing != nullptr; }

bool TracingState::records() {
  return t_tracing && (t_state.included - t_state.excluded).has(Key::kTracer);
}

TracingState& TracingState::current() {
  check(t_tracing != nullptr, "trace: this thread is not tracing");
  return *t_tracing;
}

void TracingState::abort() {
  t_state.included = t_state.included - Key::kTracer;
  t_tracing.reset();
}

// Converts a tensor that was passed for an int, float or number argument.
Value* TracingState::number_from(const Tensor& tensor, const Type& type) {
  if (type.is(TypeKind::kOptional) || type.is(TypeKind::kList))
    return number_from(tensor, *type.element());
  Value* from = value_of(tensor);
  const char* kind = type.is(TypeKind::kInt)     ? "aten::Int"
                     : type.is(TypeKind::kFloat) ? "aten::Float"
                     : type.is(TypeKind::kBool)  ? "aten::Bool"
                                                 : "aten::ScalarImplicit";
  // Right after its input, as in PyTorch.
  Node* at = graph_->insert_point();
  if (!from->is_param()) graph_->set_insert_point(from->node()->next());
  Value* number = emit_value(*graph_, kind, {from});
  hide_span(number->node());
  graph_->set_insert_point(at);
  return number;
}

const TracingState::TracedArgument* TracingState::find_traced(std::string_view name,
                                                              int64_t index) const {
  for (const TracedArgument& traced : traced_arguments_)
    if (traced.index == index && traced.name == name) return &traced;
  return nullptr;
}

Value* TracingState::argument(const OperatorInfo& op, size_t i, const IValue& value) {
  const Argument& argument = op.schema().arguments[i];
  // One number fills both elements of int[2]; PyTorch's Python expands it.
  const auto n = as_in_python_ ? static_cast<size_t>(signature_of(op).parameters[i].fixed_size) : 0;
  if (value.get_if<Tensor>() || value.is_none()) return value_of(value);
  if (!traced_arguments_.empty() && argument.type.base() != SchemaKind::kTensor) {
    if (const auto* dims = value.get_if<Dims>()) {
      const TracedArgument* for_all = dims->size() == 1 ? find_traced(argument.name, -1) : nullptr;
      std::vector<Value*> parts;
      for (size_t k = 0; k < dims->size(); ++k) {
        const TracedArgument* traced =
            for_all ? for_all : find_traced(argument.name, static_cast<int64_t>(k));
        parts.push_back(traced && is_number(traced->tensor, (*dims)[k])
                            ? number_from(traced->tensor, *make_type(TypeKind::kInt))
                            : graph_->insert_constant(IValue((*dims)[k])));
      }
      if (parts.size() == 1) parts.resize(std::max<size_t>(1, n), parts[0]);
      return build("prim::ListConstruct", parts, type_of(value));
    }
    const TracedArgument* traced = find_traced(argument.name, -1);
    if (!traced) traced = find_traced(argument.name, 0);  // a list of one, passed as a number
    if (traced && is_number(traced->tensor, from_value<Scalar>(value)))
      return number_from(traced->tensor, *jit_type(argument.type));
  }
  if (as_in_python_ && op.has_tag(Tag::kWrapsNumbers) &&
      signature_of(op).parameters[i].takes_number) {
    if (Tensor tensor = as_tensor(value)) return graph_->insert_constant(IValue(tensor));
  }
  const Dims* dims = value.get_if<Dims>();
  Value* new_value = value_of(dims && dims->size() == 1 && n > 1 ? Dims(n, (*dims)[0]) : value);
  const bool optional_tensors =
      argument.type.is(SchemaKind::kList) && argument.type.element().is(SchemaKind::kOptional);
  if (as_in_python_ && optional_tensors && argument.type.base() == SchemaKind::kTensor &&
      new_value->type()->is(TypeKind::kList))
    new_value->set_type(list_of(optional_of(tensor_type())));
  return new_value;
}

void TracingState::add_results(Node* node, const OperatorInfo& op, const Stack& arguments,
                               const Stack& results) {
  const std::vector<size_t>& written = signature_of(op).returned_parameters;
  if (results.empty()) {
    for (const size_t i : written)
      know(*arguments[i].get_if<Tensor>(), node->add_output(type_of(arguments[i])));
    return;
  }
  for (const IValue& result : results) {
    Value* output = node->add_output(type_of(result));
    if (const Tensor* t = result.get_if<Tensor>(); t && *t) know(*t, output);
    if (const auto* list = result.get_if<std::vector<Tensor>>()) {
      Node* unpack = graph_->insert(graph_->create("prim::ListUnpack", {output}, 0));
      hide_span(unpack);
      for (const Tensor& t : *list) {
        Value* item = unpack->add_output(t ? type_of_tensor(t) : tensor_type());
        if (t) know(t, item);
      }
    }
  }
}

void TracingState::record(const OperatorInfo& called, const Stack& args, const Stack& results) {
  const PyTorchCall written_call =
      as_in_python_ ? to_pytorch_call(called, args, results) : PyTorchCall{&called, args};
  const OperatorInfo& op = *written_call.op;
  const Stack& arguments = written_call.arguments;
  std::vector<Value*> inputs;
  for (size_t i = 0; i < arguments.size(); ++i) inputs.push_back(argument(op, i, arguments[i]));
  traced_arguments_.clear();
  // In PyTorch, 2 * x calls x.mul(2).
  const bool exchanges = op.has_tag(Tag::kCommutative) && op.has_tag(Tag::kWrapsNumbers);
  if (as_in_python_ && exchanges && !arguments[0].get_if<Tensor>() &&
      (arguments.size() == 2 || is_one(arguments[2])))  // alpha
    std::swap(inputs[0], inputs[1]);
  Node* node = graph_->create(Symbol(op.qualified_name()), inputs, 0);
  node->set_op(&op);
  graph_->insert(node);
  // An in-place view changes a constant's shape in every call: its type has no shape.
  if (op.has_tag(Tag::kInplaceView) && inputs[0]->node()->is("prim::Constant"))
    inputs[0]->set_type(tensor_type());
  add_results(node, op, arguments, results);
  if (events::on()) {
    events::emit(events::Kind::kTRACED, graph_->id(), node->id(), last_call(),
                 recorded_schema(called));
  }
}

void TracingState::record(std::string_view full_name, const Stack& arguments,
                          const Tensor& result) {
  const OperatorInfo* op = find_builtin(full_name);
  if (!op) op = Dispatcher::instance().find(full_name);
  check(op != nullptr, "trace: there is no operator ", std::string(full_name));
  const Without<Key::kTracer> below;
  record(*op, arguments, Stack{IValue(result)});
}

Tensor TracingState::size_of(const Tensor& tensor, std::string_view name, int64_t dim) {
  const Without<Key::kTracer> below;
  const bool all = name == "numel";
  const int64_t n = tensor.ndim();
  check_kind(all || (-n <= dim && dim < n), ErrorKind::kIndex,
             "size: dimension out of range (expected to be in range of [", -n, ", ", n - 1,
             "], but got ", dim, ")");
  const int64_t match =
      all ? tensor.numel() : tensor.sizes()[static_cast<size_t>(dim < 0 ? dim + n : dim)];
  Value* of = value_of(tensor);
  std::vector<Value*> inputs{of};
  if (!all) inputs.push_back(graph_->insert_constant(IValue(dim)));
  Value* number = emit_value(*graph_, all ? "aten::numel" : "aten::size", inputs);
  Value* new_value = emit_value(*graph_, "prim::NumToTensor", {number});
  hide_span(new_value->node());
  new_value->set_type(tensor_type({DType::kInt64, Dims{}, Dims{}, std::nullopt, Device::kCPU}));
  Tensor result = ops::full(Dims{}, Scalar(match), DType::kInt64);
  know(result, new_value);
  return result;
}

void TracingState::give_argument(std::string name, int64_t index, Tensor tensor) {
  traced_arguments_.push_back({std::move(name), index, std::move(tensor)});
}

void TracingState::call(Function& function, Stack& stack) {
  const Stack requested = stack;
  function.bind(stack, stack.size());
  Node* named = nullptr;
  std::vector<Value*> inputs;
  const auto& parameters = function.graph().inputs();
  const bool method =
      !stack.empty() && stack[0].object() && parameters[0]->type()->is(TypeKind::kClass);
  if (!method) {
    named = graph_->insert(graph_->create("prim::Constant", {}, 0));
    named->set_attribute(
        "name", Attribute{IValue(function.name()), {}, {}, Ref<RefCounted>::share(&function)});
    inputs.push_back(hide_span(named)->add_output(make_type(TypeKind::kFunction)));
  }
  for (size_t i = 0; i < stack.size(); ++i) {
    const Tensor* input = i < requested.size() ? requested[i].get_if<Tensor>() : nullptr;
    const Type& type = *parameters[i]->type();
    inputs.push_back(input && !type.is(TypeKind::kTensor) && !stack[i].get_if<Tensor>()
                         ? number_from(*input, type)
                         : value_of(stack[i]));
  }
  Node* node =
      graph_->insert(graph_->create(method ? "prim::CallMethod" : "prim::CallFunction", inputs, 0));
  hide_span(node);
  if (method) {
    const size_t dot = function.name().find_last_of('.');
    node->set_attribute("name", IValue(function.name().substr(dot + 1)));  // npos + 1 is 0
  }
  {
    const Aside aside;
    function.call(stack);
  }
  const IValue& result = stack.back();
  const TypeRef type = type_of(result);
  check(!type->is(TypeKind::kInt) && !type->is(TypeKind::kFloat) && !type->is(TypeKind::kBool) &&
            !type->is(TypeKind::kString) && !type->is(TypeKind::kNone),
        "Tracer cannot set value trace for type ", result.type_name(),
        ". Supported types are tensor, tensor list, and tuple of tensors.");
  know_parts(result, node->add_output(type->is(TypeKind::kTensor) ? type : unshaped(type)));
  if (events::on()) {
    events::emit(events::Kind::kTRACED, graph_->id(), node->id(), last_call(),
                 events::intern(function.name()));
  }
}

GraphRef TracingState::end(const IValue& result) {
  const std::unique_ptr<TracingState> self = std::move(t_tracing);
  t_state.included = t_state.included - Key::kTracer;
  self->names_.clear();  // names of results are not kept
  self->graph_->add_output(self->value_of(result));
  if (self->scopes_.self) make_methods(*self->graph_, self->scopes_);
  if (self->as_in_python_) remove_dead_of_trace(*self->graph_);
  if (self->scopes_.self) self->graph_->renumber_unnamed();
  return self->graph_;
}

Value* TracingState::object_value(const Object* object) {
  Value*& value = objects_[object];
  if (value) return value;
  const auto it = scopes_.modules.find(object);
  check(it != scopes_.modules.end(), "Tried to trace ", text_of_object(*object),
        " but it is not part of the active trace. Modules that are called during a trace must be "
        "registered as submodules of the thing being traced.");
  return value = placeholder(it->second, it->second.type);
}

void TracingState::enter(const IValue& module) {
  const Object* object = module.object();
  check_kind(object != nullptr, ErrorKind::kType, "trace: the module is a ", module.type_name());
  Node* call = graph_->create("prim::TracedModuleForward", {object_value(object)}, 0);
  graph_->insert(call)->add_block();
  scopes_.calls.emplace(call, object);
  entered_.push_back(call);
  graph_->set_insert_point(call->block(0));
  const std::string around = graph_->scope().empty() ? "" : graph_->scope() + "/";
  graph_->set_scope(around + scopes_.path(object));
}

void TracingState::leave() {
  check_kind(!entered_.empty(), ErrorKind::kInternal, "trace: no module was entered");
  graph_->set_insert_point(entered_.back()->owner());
  graph_->set_scope(entered_.back()->scope());
  entered_.pop_back();
}

}  // namespace uh::jit
