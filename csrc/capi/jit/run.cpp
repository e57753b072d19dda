// The C ABI of functions, classes, boxes and tracing: see underhood_jit_run.h.
#include <atomic>

#include "base/call_section.h"
#include "base/json.h"
#include "capi/convert.h"
#include "capi/jit/handles.h"
#include "capi/returned_string.h"
#include "capi/underhood_archive.h"
#include "capi/underhood_jit_run.h"
#include "events/recorder.h"
#include "jit/builtins/side_effects.h"
#include "jit/function.h"
#include "jit/ir/subgraphs.h"
#include "jit/ir/verify.h"
#include "jit/run/executor.h"
#include "jit/run/host_function.h"
#include "jit/run/interrupt.h"
#include "jit/serialization/archive.h"
#include "jit/serialization/model_file.h"
#include "jit/trace/tracing_state.h"

using namespace uh;       // NOLINT: this file is nothing but calls into uh
using namespace uh::jit;  // NOLINT

namespace {

template <class T>
uint64_t give_ref(Ref<T> ref) {
  return reinterpret_cast<uint64_t>(ref.leak());
}
Container& box_of(uh_box handle) {
  check(handle != 0, "box: the handle is 0");
  return *reinterpret_cast<Container*>(handle);
}
IValue value_of_box(uh_box handle) { return Ref<Container>::share(&box_of(handle)); }
uh_box give_box(const IValue& value) {
  return give_ref(Ref<Container>(*value.get_if<Ref<Container>>()));
}
// A handle of a class refers to its methods: Note [Ownership of methods] in jit/ir/type.h.
ClassType& class_of(uh_class handle) {
  check(handle != 0, "class: the handle is 0");
  return reinterpret_cast<Methods*>(handle)->type();
}
Function& function_of(uh_function handle) {
  check(handle != 0, "function: the handle is 0");
  return *reinterpret_cast<Function*>(handle);
}
Object& object_of(uh_box handle) {
  Container& box = box_of(handle);
  check_kind(box.kind == Container::Kind::kObject && static_cast<Object&>(box).methods,
             ErrorKind::kType, "box: not an object");
  return static_cast<Object&>(box);
}
ClassType& class_of_object(const Object& object) {
  return static_cast<ClassType&>(*object.type.get());
}

std::vector<IValue> values_of(const uh_value* values, int64_t n) {
  std::vector<IValue> all;
  for (int64_t i = 0; i < n; ++i) all.push_back(read_value(values[i]));
  return all;
}

IValue& slot_of(uh_box self, const char* name) {
  Object& object = object_of(self);
  const ClassType& type = class_of_object(object);
  const int64_t slot = type.slot(name);
  check(slot >= 0, type.name(), " has no attribute '", name, "'");
  if (object.slots.size() <= static_cast<size_t>(slot))
    object.slots.resize(type.attributes().size());
  return object.slots[static_cast<size_t>(slot)];
}

IValue called(Function& function, Stack stack) {
  function.call(stack);
  return stack.empty() ? IValue() : std::move(stack.back());
}

}  // namespace

uh_box uh_box_list(const uh_value* items, int64_t n) {
  return guard(0, [&] { return give_box(make_container<List>(values_of(items, n))); });
}
uh_box uh_box_tuple(const uh_value* items, int64_t n) {
  return guard(0, [&] { return give_box(make_container<Tuple>(values_of(items, n))); });
}
uh_box uh_box_dict(const uh_value* keys, const uh_value* values, int64_t n) {
  return guard(0, [&] {
    IValue result = make_container<Dict>();
    for (int64_t i = 0; i < n; ++i) result.dict()->put(read_value(keys[i]), read_value(values[i]));
    return give_box(result);
  });
}
uh_box uh_box_retain(uh_box self) {
  return guard(0, [&] { return give_box(value_of_box(self)); });
}
void uh_box_release(uh_box self) {
  if (self) Ref<Container>::adopt(reinterpret_cast<Container*>(self));
}
int uh_box_kind(uh_box self) {
  return guard(
      -1, [&] { return enum_of(value_of_box(self)) ? 4 : static_cast<int>(box_of(self).kind); });
}
int64_t uh_box_size(uh_box self) {
  return guard(-1, [&] {
    const IValue value = value_of_box(self);
    size_t n = 0;
    if (const List* list = value.list()) n = list->items.size();
    if (const Tuple* tuple = value.tuple()) n = tuple->items.size();
    if (const Dict* dict = value.dict()) n = dict->size();
    if (const Object* object = value.object()) n = object->slots.size();
    return static_cast<int64_t>(n);
  });
}
int uh_box_item(uh_box self, int64_t i, uh_value* ret_value) {
  return done([&] {
    const IValue value = value_of_box(self);
    check_kind(i >= 0 && i < uh_box_size(self), ErrorKind::kIndex, "box: item ", i, " of ",
               uh_box_size(self));
    const auto at = static_cast<size_t>(i);
    if (const List* list = value.list()) *ret_value = write_value(list->items[at]);
    if (const Tuple* tuple = value.tuple()) *ret_value = write_value(tuple->items[at]);
    if (const Dict* dict = value.dict()) *ret_value = write_value(dict->items()[at].second);
    if (const Object* object = value.object()) *ret_value = write_value(object->slots[at]);
  });
}
int uh_box_key(uh_box self, int64_t i, uh_value* ret_key) {
  return done([&] {
    const IValue value = value_of_box(self);
    const Dict* dict = value.dict();
    check_kind(dict && i >= 0 && static_cast<size_t>(i) < dict->size(), ErrorKind::kIndex,
               "box: key ", i, " of a ", value.type_name());
    *ret_key = write_value(dict->items()[static_cast<size_t>(i)].first);
  });
}

uh_class uh_class_new(const char* name) {
  return guard(0, [&] { return give_ref(make_ref<ClassType>(std::string(name))->methods()); });
}
uh_class uh_class_find(const char* name) {
  return guard(0, [&] {
    const TypeRef type = find_class(name);
    const bool known = type && type->is(TypeKind::kClass);
    return known ? give_ref(static_cast<ClassType&>(*type).methods()) : 0;
  });
}
void uh_class_release(uh_class self) {
  if (self) Ref<Methods>::adopt(reinterpret_cast<Methods*>(self));
}
int64_t uh_class_add_attribute(uh_class self, const char* name, const char* type, int kind) {
  return guard(-1, [&] {
    ClassType& result = class_of(self);
    result.add_attribute({name, parse_type(type), kind == 1, kind == 2});
    return result.slot(name);
  });
}
int uh_class_add_method(uh_class self, const char* name, uh_function function) {
  return done(
      [&] { class_of(self).add_method(name, Ref<Function>::share(&function_of(function))); });
}
const char* uh_class_describe(uh_class self) {
  return text_of([&] {
    const ClassType& type = class_of(self);
    JsonWriter w;
    w.begin_object().member("name", type.name()).member("plain", type.is_plain());
    write_attributes(w, type);
    w.key("methods").begin_array();
    for (const auto& [name, function] : reinterpret_cast<Methods*>(self)->all) w.value(name);
    w.end_array().end_object();
    return w.take();
  });
}
uh_function uh_class_method(uh_class self, const char* name) {
  return guard(0, [&] { return give_ref(class_of(self).method(name)); });
}
uh_box uh_object_new(uh_class type) {
  return guard(0, [&] { return give_box(new_object(class_of(type))); });
}
uh_class uh_object_class(uh_box self) {
  return guard(0, [&] { return give_ref(Ref<RefCounted>(object_of(self).methods)); });
}
int uh_object_get(uh_box self, const char* name, uh_value* ret_value) {
  return done([&] { *ret_value = write_value(slot_of(self, name)); });
}
int uh_object_set(uh_box self, const char* name, const uh_value* value) {
  return done([&] {
    IValue& slot = slot_of(self, name);
    const ClassType& type = class_of_object(object_of(self));
    IValue argument = read_value(*value);
    const auto& attribute = type.attributes()[static_cast<size_t>(type.slot(name))];
    check_kind(is_instance(argument, *attribute.type), ErrorKind::kType, type.name(), ".", name,
               ": expected a ", attribute.type->annotation(), ", got a ",
               type_of(argument)->annotation());
    slot = std::move(argument);
    object_of(self).written();
  });
}

uh_function uh_function_new(const char* name, uh_graph graph) {
  return guard(0, [&] {
    return give_ref(make_ref<Function>(std::string(name), GraphRef::share(&graph_of(graph))));
  });
}
uh_function uh_function_retain(uh_function self) {
  return guard(0, [&] { return give_ref(Ref<Function>::share(&function_of(self))); });
}
void uh_function_release(uh_function self) {
  if (self) Ref<Function>::adopt(reinterpret_cast<Function*>(self));
}
int64_t uh_function_id(uh_function self) {
  return guard(-1, [&] { return function_of(self).id(); });
}
const char* uh_function_name(uh_function self) {
  return text_of([&] { return function_of(self).name(); });
}
const char* uh_function_schema(uh_function self) {
  return text_of([&] { return function_of(self).schema_text(); });
}
int uh_function_set_defaults(uh_function self, const uh_value* values, int64_t n) {
  return done([&] { function_of(self).set_defaults(values_of(values, n)); });
}
int uh_function_default(uh_function self, int64_t i, uh_value* ret_value) {
  return guard(-1, [&] {
    const Function& function = function_of(self);
    const auto& defaults = function.defaults();
    const int64_t first = int64_t(function.graph().inputs().size()) - int64_t(defaults.size());
    if (i < first || i - first >= int64_t(defaults.size())) return 0;
    *ret_value = write_value(defaults[static_cast<size_t>(i - first)]);
    return 1;
  });
}
uh_graph uh_function_graph(uh_function self) {
  return guard(0, [&] { return give_ref(GraphRef(function_of(self).graph_ref())); });
}
int64_t uh_graph_function(uh_graph self, uh_function function) {
  return guard(-1, [&] {
    Graph& graph = graph_of(self);
    Function& called = function_of(function);
    Node* node = graph.create("prim::Constant", {}, 0);
    Attribute name;
    name.value = IValue(called.name());
    name.object = Ref<RefCounted>::share(&called);
    node->set_attribute("name", std::move(name));
    node->add_output(make_type(TypeKind::kFunction));
    return graph.insert(node)->output()->id();
  });
}
int uh_function_call(uh_function self, const uh_value* args, int64_t n, uh_value* ret_value) {
  return done([&] {
    calls::use_any();
    *ret_value = write_value(called(function_of(self), values_of(args, n)));
  });
}
uh_handle uh_function_call_tensors(uh_function self, const uh_handle* args, int64_t n) {
  return guard(0, [&] {
    calls::use_any();
    Stack stack;
    stack.reserve(static_cast<size_t>(n) + 4);
    for (int64_t i = 0; i < n; ++i) stack.emplace_back(take(args[i]));
    Function& function = function_of(self);
    function.call(stack);
    Tensor* result = stack.empty() ? nullptr : stack.back().get_if<Tensor>();
    check(result && *result, "function ", function.name(), ": its result is not a tensor");
    return give(std::move(*result));
  });
}
uh_handle uh_function_call_1(uh_function self, uh_handle a) {
  return uh_function_call_tensors(self, &a, 1);
}
uh_handle uh_function_call_2(uh_function self, uh_handle a, uh_handle b) {
  const uh_handle args[] = {a, b};
  return uh_function_call_tensors(self, args, 2);
}
uh_handle uh_function_call_3(uh_function self, uh_handle a, uh_handle b, uh_handle c) {
  const uh_handle args[] = {a, b, c};
  return uh_function_call_tensors(self, args, 3);
}
int uh_graph_run(uh_graph self, const uh_value* args, int64_t n, uh_value* ret_value) {
  return done([&] {
    calls::use_any();
    const GraphRef graph = graph_of(self).copy();
    check_kind(graph->inputs().size() == static_cast<size_t>(n), ErrorKind::kType, "graph: takes ",
               graph->inputs().size(), " inputs, got ", n);
    verify(*graph);
    Stack stack = values_of(args, n);
    run(*compile(graph, graph->name()), stack, nullptr);
    *ret_value = write_value(stack.empty() ? IValue() : std::move(stack.back()));
  });
}
uh_graph uh_function_graph_for(uh_function self, const uh_value* args, int64_t n) {
  return guard(0, [&] {
    calls::use_any();
    return give_ref(function_of(self).executor().graph_for(values_of(args, n)));
  });
}
const char* uh_function_code(uh_function self, const uh_value* args, int64_t n) {
  return text_of(
      [&] { return function_of(self).executor().code_for(values_of(args, n), true).text(); });
}
void uh_function_record_origin(uh_function self, const char* origin, const char* file,
                               const char* json) {
  if (!events::on()) return;
  // There is no status to return: for a handle of 0 this only sets the last error.
  done([&] {
    const Function& f = function_of(self);
    events::emit_blob(events::Kind::kFUNCTION_NEW, f.id(), events::intern(f.name()),
                      events::intern(origin), events::intern(file), json,
                      std::char_traits<char>::length(json));
  });
}

int64_t uh_jit_alive(const char* kind) {
  return guard(-1, [&]() -> int64_t {
    const std::string_view kind_name = kind;
    if (kind_name == "function") return Function::alive();
    if (kind_name == "graph") return Graph::alive();
    if (kind_name == "class") return class_count();
    if (kind_name == "code") return Code::alive();
    fail(ErrorKind::kValue, "alive: expected function, graph, class or code, got '", kind_name,
         "'");
  });
}

void uh_jit_set_output(void (*print)(const char* text, size_t n),
                       void (*warn)(const char* text, size_t n)) {
  set_print_handler(print);
  set_warn_handler(warn);
}

int uh_jit_trace_begin(const char* name) {
  return done([&] {
    TracingState::begin(name);
    TracingState::current().as_in_python();
  });
}
int64_t uh_jit_trace_input(const char* name, const uh_value* value) {
  return guard(-1, [&] {
    const int64_t id = TracingState::current().add_input(name, read_value(*value))->id();
    settle_counts();
    return id;
  });
}
int64_t uh_jit_trace_self(uh_box module) {
  return guard(-1, [&] { return TracingState::current().add_self(value_of_box(module))->id(); });
}
uh_graph uh_jit_trace_end(const uh_value* result) {
  return guard(0, [&] {
    GraphRef graph = TracingState::current().end(read_value(*result));
    settle_counts();
    return give_ref(std::move(graph));
  });
}
void uh_jit_trace_abort(void) { TracingState::abort(); }
int uh_jit_tracing(void) { return TracingState::on() ? 1 : 0; }
void uh_jit_trace_span(uh_source source, int line, int column, int end_line, int end_column) {
  if (!TracingState::on()) return;
  TracingState::current().graph().set_span(span_of(source, line, column, end_line, end_column));
}

static std::atomic<int (*)()> g_host_check{nullptr};
void uh_set_interrupt(int (*check)(void)) {
  g_host_check = check;
  g_interrupt = check ? +[] {
    const auto host = g_host_check.load();
    const OutsideCalls outside;
    if (host && host() != 0) throw_last_error();
  } : nullptr;
}

int uh_graph_bind(uh_graph self, const char* name, uh_function function) {
  return done([&] {
    Function& called = function_of(function);
    each_node_within(graph_of(self), [&](Node* node) {
      const Attribute* attribute = node->attribute("name");
      if (!node->is("prim::Constant") || !attribute || node->text_attribute("name") != name) return;
      Attribute bound = *attribute;
      bound.object = Ref<RefCounted>::share(&called);
      node->set_attribute("name", std::move(bound));
    });
  });
}

int uh_graph_bind_host(uh_graph self, const char* name, uh_host_fn call, void* context,
                       void (*release)(void*)) {
  return done([&] {
    const std::shared_ptr<void> shared_context(context, [release](void* pointer) {
      const OutsideCalls host;
      release(pointer);
    });
    const auto run = [call, shared_context](const Stack& arguments) {
      std::vector<uh_value> args;
      for (const IValue& argument : arguments) args.push_back(write_value(argument));
      uh_value result{};
      {
        const OutsideCalls host;
        if (call(shared_context.get(), args.data(), static_cast<int64_t>(args.size()), &result) !=
            0)
          throw_last_error();
      }
      return read_value(result);
    };
    graph_of(self).each_node([&](Node* node) {
      if (!node->is("prim::PythonOp") || node->text_attribute("name") != name) return;
      Attribute bound = *node->attribute("name");
      bound.object = make_ref<HostFunction>(std::string(name), node->output()->type(), run);
      node->set_attribute("name", std::move(bound));
    });
  });
}

int uh_jit_save(uh_box module, const char* path, const uh_extra_file* extra, int64_t n_extra) {
  return done([&] {
    std::map<std::string, std::string> files;
    for (int64_t i = 0; i < n_extra; ++i)
      files[extra[i].name] = std::string(static_cast<const char*>(extra[i].bytes), extra[i].size);
    save_model(value_of_box(module), path, files);
  });
}
uh_box uh_jit_load_archive(uh_archive file) {
  return guard(0, [&] {
    initialise();
    const IValue module = load_model(*reinterpret_cast<SafetensorsReader*>(file));
    settle_counts();
    return give_box(module);
  });
}
uh_box uh_jit_load(const char* path) {
  const uh_archive file = uh_archive_open(path);
  if (!file) return 0;
  const uh_box module = uh_jit_load_archive(file);
  uh_archive_close(file);
  return module;
}
const char* uh_jit_extra(uh_archive file, const char* name, size_t* size) {
  return guard(static_cast<const char*>(nullptr), [&]() -> const char* {
    static constexpr char key = 0;
    std::optional<std::string> content =
        extra_file(*reinterpret_cast<const SafetensorsReader*>(file), name);
    if (!content) return nullptr;
    std::string& text = returned_string(&key);
    text = std::move(*content);
    *size = text.size();
    return text.data();
  });
}
uh_box uh_function_module(uh_function self) {
  return guard(0, [&] { return give_box(module_of(function_of(self))); });
}
uh_box uh_jit_freeze(uh_box self, const char* const* preserved, int64_t n, int optimize_numerics) {
  return guard(0, [&] {
    const IValue result =
        freeze(value_of_box(self), std::vector<std::string>(preserved, preserved + n),
               optimize_numerics != 0);
    settle_counts();
    return give_box(result);
  });
}

int uh_jit_call(uh_box self, const char* method, const uh_value* args, int64_t n,
                uh_value* ret_value) {
  return done([&] {
    const ClassType& type = class_of_object(object_of(self));
    const Ref<Function> function = type.method(method);
    check(static_cast<bool>(function), type.name(), " has no method '", method, "'");
    calls::use_any();
    Stack stack{value_of_box(self)};
    for (int64_t i = 0; i < n; ++i) stack.push_back(read_value(args[i]));
    *ret_value = write_value(called(*function, std::move(stack)));
  });
}
