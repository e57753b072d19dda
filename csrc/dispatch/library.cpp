#include "dispatch/library.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "dispatch/call_traced.h"

namespace uh {
namespace {

// Interns a name for the lifetime of the process: recordings and messages refer to it.
const char* permanent(std::string_view text) {
  static std::mutex lock;
  static auto* all = new std::set<std::string, std::less<>>;
  std::lock_guard guard(lock);
  return all->emplace(text).first->c_str();
}

// Replaces PyTorch's symbolic types by plain ones: SymInt becomes int.
std::string plain_types(std::string_view schema) {
  std::string text(schema);
  for (const std::string_view symbolic : {"SymInt", "SymBool", "SymFloat"}) {
    for (size_t at = 0; (at = text.find(symbolic, at)) != std::string::npos;) {
      const bool is_word_start =
          at == 0 ||
          !(std::isalnum(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '_');
      if (!is_word_start) {
        ++at;
        continue;
      }
      text.erase(at, 3);
      text[at] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[at])));
    }
  }
  return text;
}

template <class T>
IValue read_as(const IValue& value) {
  return IValue(from_value<T>(value));
}
IValue read_tensor(const IValue& value) {
  Tensor tensor = from_value<Tensor>(value);
  check_kind(static_cast<bool>(tensor), ErrorKind::kType, "boxed call: expected Tensor, got None");
  return tensor;
}
IValue read_tensors(const IValue& value) {
  auto tensors = from_value<std::vector<Tensor>>(value);
  for (const Tensor& tensor : tensors)
    check_kind(static_cast<bool>(tensor), ErrorKind::kType,
               "boxed call: expected Tensor[], got a list with None");
  return tensors;
}
IValue read_memory_format(const IValue& value) { return to_value(from_value<MemoryFormat>(value)); }

// Converts a value of a schema type; null for a type that boxed kernels do not accept.
using Reader = IValue (*)(const IValue&);
Reader list_reader_of(const SchemaType& element) {
  switch (element.kind) {
    case SchemaKind::kTensor: return read_tensors;
    case SchemaKind::kInt: return read_as<Dims>;
    case SchemaKind::kFloat: return read_as<std::vector<double>>;
    case SchemaKind::kOptional:
      return element.element().is(SchemaKind::kTensor) ? read_as<std::vector<Tensor>> : nullptr;
    default: return nullptr;
  }
}
Reader reader_of(const SchemaType& type) {
  switch (type.kind) {
    case SchemaKind::kTensor: return read_tensor;
    case SchemaKind::kInt: return read_as<int64_t>;
    case SchemaKind::kFloat: return read_as<double>;
    case SchemaKind::kBool: return read_as<bool>;
    case SchemaKind::kScalar: return read_as<Scalar>;
    case SchemaKind::kString: return read_as<std::string>;
    case SchemaKind::kScalarType: return read_as<DType>;
    case SchemaKind::kDevice: return read_as<Device>;
    case SchemaKind::kMemoryFormat: return read_memory_format;
    case SchemaKind::kList: return list_reader_of(type.element());
    case SchemaKind::kOptional: return reader_of(type.element());
    default: return nullptr;
  }
}

// True if a reader of the type would return the value unchanged, which is the common case.
bool is_ready(const SchemaType& type, const IValue& value) {
  switch (type.kind) {
    case SchemaKind::kTensor: {
      const Tensor* tensor = value.get_if<Tensor>();
      return tensor && *tensor;
    }
    case SchemaKind::kInt: return value.get_if<int64_t>() != nullptr;
    case SchemaKind::kFloat: return value.get_if<double>() != nullptr;
    case SchemaKind::kBool: return value.get_if<bool>() != nullptr;
    case SchemaKind::kString: return value.get_if<std::string>() != nullptr;
    default: return false;
  }
}

// Converts the value to the form that kernels of this type expect; false if it has another type.
bool read_in_place(const SchemaType& type, IValue& value) {
  if (is_ready(type, value)) return true;
  const Tensor* tensor = value.get_if<Tensor>();
  const bool none = value.is_none() || (tensor && !*tensor);
  if (none) {
    value = IValue();
    return type.is(SchemaKind::kOptional);
  }
  try {
    value = reader_of(type)(value);
  } catch (const Error&) {
    return false;
  }
  return true;
}

// Describes a value in messages.
std::string word(const IValue& value) { return value.is_none() ? "None" : value.type_name(); }

KeySet keys_of_stack(const Stack& stack) {
  KeySet keys;
  for (const IValue& v : stack) {
    if (const Tensor* t = v.get_if<Tensor>()) keys = keys | keys_of(*t);
    if (const auto* list = v.get_if<std::vector<Tensor>>()) keys = keys | keys_of(*list);
    if (const auto* device = v.get_if<Device>()) keys = keys | keys_of(*device);
  }
  return keys.empty() ? KeySet(Key::kCPU) : keys;
}

void record_arguments(CallRecord& record, const Stack& stack) {
  for (const IValue& v : stack) {
    std::visit(
        [&](const auto& x) {
          using T = std::decay_t<decltype(x)>;
          if constexpr (std::is_same_v<T, std::monostate>)
            record.argument(Tensor());
          else if constexpr (std::is_same_v<T, Ref<Container>>)
            record.argument(v.type_name());
          else
            record.argument(x);
        },
        v.variant());
  }
}

// The live libraries that may define operators, by namespace.
std::mutex g_libraries_lock;
std::multimap<std::string, const Library*, std::less<>>& libraries() {
  static auto* all = new std::multimap<std::string, const Library*, std::less<>>;
  return *all;
}
std::map<std::string, std::string>& definers() {
  static auto* all = new std::map<std::string, std::string>;  // namespace -> source location
  return *all;
}

bool is_word(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
         });
}

}  // namespace

KernelTarget KernelTarget::parse(std::string_view text) {
  if (text == "CompositeImplicitAutograd") return KernelTarget(Kind::kCompositeImplicit);
  if (text == "CompositeExplicitAutograd") return KernelTarget(Kind::kCompositeExplicit);
  if (text == "AutogradCPU") return Key::kAutograd;
  std::string names;
  for (int i = 0; i < kKeyCount; ++i) {
    const Key key = static_cast<Key>(i);
    if (key != Key::kAutograd && !(kBackendKeys & key).has(key)) continue;
    if (text == name(key)) return key;
    names += std::string(name(key)) + ", ";
  }
  fail(ErrorKind::kRuntime, "could not parse dispatch key '", text, "'; choose from ", names,
       "CompositeImplicitAutograd, CompositeExplicitAutograd");
}

// ---- BoxedOperator

BoxedOperator::BoxedOperator(std::string_view name_space, std::string_view schema)
    : BoxedOperator(name_space, parse_schema(plain_types(schema))) {
  const auto check_type = [&](const Argument& a, std::string_view role) {
    check(reader_of(a.type) != nullptr, "schema: the ", role, " '", a.name, "' has the type ",
          a.type.text(), ", which operators of a library do not take: '", schema, "'");
  };
  for (const Argument& argument : parsed_->arguments) check_type(argument, "argument");
  for (const Argument& result : parsed_->returns) check_type(result, "result");
}

BoxedOperator::BoxedOperator(std::string_view name_space,
                             std::shared_ptr<const FunctionSchema> schema)
    : OperatorInfo(*schema), parsed_(std::move(schema)) {
  set_name_space(permanent(name_space));
  set_differentiation(Differentiation::kMissing);
}

namespace {
// True if the types match. A kernel's Tensor may be undefined, so it also accepts Tensor? and the
// elements of Tensor?[].
bool fits(const SchemaType& schema, const SchemaType& kernel) {
  if (schema.is(SchemaKind::kOptional) && schema.element().is(SchemaKind::kTensor) &&
      kernel.is(SchemaKind::kTensor))
    return true;
  if (schema.kind != kernel.kind || schema.count != kernel.count) return false;
  for (size_t i = 0; i < schema.count; ++i)
    if (!fits(schema.first[i], kernel.first[i])) return false;
  return true;
}

// Describes the first mismatch: "argument 1 ('n') is int in the schema and str in the kernel";
// empty if there is none.
std::string first_difference(const char* role, std::span<const Argument> schema,
                             std::span<const Argument> kernel) {
  if (schema.size() != kernel.size())
    return message("the schema has ", schema.size(), " ", role, "s and the kernel ", kernel.size());
  for (size_t i = 0; i < schema.size(); ++i) {
    if (fits(schema[i].type, kernel[i].type)) continue;
    const std::string name =
        schema[i].name.empty() ? "" : " ('" + std::string(schema[i].name) + "')";
    return message(role, " ", i, name, " is ", schema[i].type.text(), " in the schema and ",
                   kernel[i].type.text(), " in the kernel");
  }
  return "";
}
}  // namespace

void BoxedOperator::check_signature(std::string_view signature,
                                    std::string_view kernel_name) const {
  const auto kernel = parse_schema("kernel" + std::string(signature));
  std::string reason = first_difference("argument", schema().arguments, kernel->arguments);
  if (reason.empty()) reason = first_difference("result", schema().returns, kernel->returns);
  check(reason.empty(), kernel_name,
        ": Inferred operator schema for a C++ kernel function doesn't match the expected function "
        "schema. ",
        reason, "; expected schema: ", schema_text(), "; inferred schema: ", signature);
}

void BoxedOperator::set_kernel(KernelTarget target, KernelRef kernel, std::string_view name) {
  const std::lock_guard guard(lock_);
  if (target.kind == KernelTarget::Kind::kKey) {
    KernelRef& slot = own_[static_cast<size_t>(target.key)];
    check(!slot, name_space(), "::", full_name(), ": a kernel for ", uh::name(target.key),
          " is already registered");
    slot = std::move(kernel);
    enter_kernel(target.key, nullptr, permanent(name));
    if (target.key == Key::kAutograd) set_differentiation(Differentiation::kKernel);
    return;
  }
  check(!composite_, name_space(), "::", full_name(), ": a composite kernel is already registered");
  composite_ = std::move(kernel);
  for (const Key key : {Key::kCPU, Key::kMeta})
    if (!own_[static_cast<size_t>(key)]) enter_kernel(key, nullptr, permanent(name));
  if (target.kind == KernelTarget::Kind::kCompositeImplicit && !kernels_.has(Key::kAutograd))
    set_differentiation(Differentiation::kComposite);
}

void BoxedOperator::remove_kernels_of(const Library& owner) {
  std::vector<KernelRef> removed;  // their contexts are destroyed after the lock is released
  const std::lock_guard guard(lock_);
  const auto remove = [&](KernelRef& slot) {
    if (!slot || slot->owner != &owner) return false;
    removed.push_back(std::move(slot));
    slot = nullptr;
    return true;
  };
  const bool composite = remove(composite_);
  for (size_t k = 0; k < own_.size(); ++k) {
    const Key key = static_cast<Key>(k);
    const bool own = remove(own_[k]);
    const bool served =
        own_[k] || fallbacks_[k] || (composite_ && (key == Key::kCPU || key == Key::kMeta));
    if ((own || composite) && !served) {
      kernels_ = kernels_ - key;
      names_[k] = {};
    }
  }
  if (!own_[static_cast<size_t>(Key::kAutograd)] && !composite_)
    set_differentiation(Differentiation::kMissing);
}

void BoxedOperator::retire() {
  std::array<KernelRef, kKeyCount> removed;
  KernelRef composite;
  const std::lock_guard guard(lock_);
  removed.swap(own_);
  composite.swap(composite_);
  kernels_ = KeySet();
  retired_ = true;
}

void BoxedOperator::no_boxed_kernel(KeySet keys) const {
  check(!retired_, name_space(), "::", full_name(),
        ": the library that registered this operator has been destroyed");
  fail(ErrorKind::kNotImplemented, "Could not run '", name_space(), "::", full_name(),
       "' with arguments from the '", name((keys & kBackendKeys).highest()),
       "' backend: kernels exist for {", to_string(kernels_), "}",
       keys.has(Key::kMeta) ? fake_kernel_hint_ : "");
}

BoxedOperator::KernelRef BoxedOperator::kernel_for(KeySet keys, Key* ret_key) {
  const std::lock_guard guard(lock_);
  const KeySet usable = keys & kernels_;
  if (usable.empty()) {
    // An operator that only writes needs no Meta kernel: it has no results to compute.
    if (retired_ || !keys.has(Key::kMeta) || !schema().returns.empty()) no_boxed_kernel(keys);
    static const auto& nothing = *new KernelRef(
        std::make_shared<const Kernel>(Kernel{[](KeySet, Stack& s) { s.clear(); }, nullptr}));
    *ret_key = Key::kMeta;
    return nothing;
  }
  *ret_key = usable.highest();
  const KernelRef& own = own_[static_cast<size_t>(*ret_key)];
  return own ? own : composite_;
}

// Converts numbers to the schema's types, and lists to the arrays that kernels read.
void BoxedOperator::check_arguments(Stack& stack) const {
  const std::span<const Argument> arguments = schema().arguments;
  if (stack.size() != arguments.size()) [[unlikely]]
    fail(ErrorKind::kType, name_space(), "::", full_name(), ": expected ", arguments.size(),
         " arguments, got ", stack.size(), "; schema: ", schema_text());
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!read_in_place(arguments[i].type, stack[i])) [[unlikely]]
      fail(ErrorKind::kType, name_space(), "::", full_name(), ": argument '", arguments[i].name,
           "' must be ", arguments[i].type.text(), ", got ", word(stack[i]),
           "; schema: ", schema_text());
  }
}

void BoxedOperator::check_results(Stack& stack) const {
  const std::span<const Argument> results = schema().returns;
  if (stack.size() != results.size()) [[unlikely]]
    fail(ErrorKind::kRuntime, name_space(), "::", full_name(), ": the kernel returned ",
         stack.size(), " results where the schema has ", results.size(),
         "; schema: ", schema_text());
  for (size_t i = 0; i < results.size(); ++i) {
    if (!read_in_place(results[i].type, stack[i])) [[unlikely]]
      fail(ErrorKind::kRuntime, name_space(), "::", full_name(), ": the kernel returned ",
           word(stack[i]), " as result ", i, ", where the schema has ", results[i].type.text(),
           "; schema: ", schema_text());
  }
}

std::vector<Tensor> BoxedOperator::written(const Stack& stack) const {
  std::vector<Tensor> tensors;
  const std::span<const Argument> arguments = schema().arguments;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].is_write())
      each_tensor(stack[i], [&](const Tensor& t) { tensors.push_back(t); });
  return tensors;
}

namespace {
// Records the contents of new results: writes through a pointer are not recorded.
void record_results(const FunctionSchema& schema, const Stack& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (!schema.returns[i].alias_info.set.empty()) continue;
    each_tensor(results[i], [](const Tensor& t) {
      if (!t.is_meta()) record_write(t);
    });
  }
}
}  // namespace

void BoxedOperator::run(KeySet keys, Stack& stack) {
  Key key;
  const KernelRef kernel = kernel_for(keys, &key);
  if (events::on()) [[unlikely]]
    record_hop(*this, key, keys);
  if (!kernel) return fallbacks_[static_cast<size_t>(key)](*this, key, stack);
  const bool backend = kBackendKeys.has(key);
  // A kernel may write through a pointer: count the write here, unless an operator counted it.
  const std::vector<Tensor> outputs = backend ? written(stack) : std::vector<Tensor>();
  std::vector<int64_t> versions;
  for (const Tensor& t : outputs) {
    t.impl()->check_writable();
    versions.push_back(t.impl()->is_inference() ? 0 : t.impl()->version());
  }
  kernel->run(keys, stack);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& t = outputs[i];
    if (t.impl()->is_inference() || t.impl()->version() != versions[i]) continue;
    if (!t.is_meta()) record_write(t);
    t.impl()->bump_version(current_call());
  }
  check_results(stack);
  if (backend && events::on()) [[unlikely]]
    record_results(schema(), stack);
}

void BoxedOperator::redispatch(KeySet keys, Stack& stack) { run(keys, stack); }

void BoxedOperator::call_below_autograd(Stack& stack) {
  check_arguments(stack);
  const BelowAutograd below;
  const KeySet keys = (keys_of_stack(stack) | t_state.included) - t_state.excluded;
  run(keys - Key::kAutograd - Key::kTracer, stack);
}

// Note [Operators without a gradient] of operator.h. Written arguments are treated as results,
// before the returned ones.
void BoxedOperator::run_below_barrier(KeySet keys, Stack& stack) {
  const Stack arguments = stack;
  const std::vector<Tensor> outputs = written(arguments);
  TensorList inputs, results;
  for (const Tensor& t : outputs) inputs.push_back(&t);
  for (const IValue& value : arguments)
    each_tensor(value, [&](const Tensor& t) { inputs.push_back(&t); });
  const bool needed = g_barrier.enter(*this, inputs);
  const BelowAutograd below;
  run(keys - Key::kAutograd, stack);
  if (!needed) return;
  for (const Tensor& t : outputs) results.push_back(&t);
  for (const IValue& value : stack)
    each_tensor(value, [&](const Tensor& t) { results.push_back(&t); });
  if (!results.empty()) g_barrier.leave(*this, inputs, results);
}

void BoxedOperator::call_boxed(Stack& stack) {
  check_arguments(stack);
  if ((t_state.included - t_state.excluded).has(Key::kTracer)) return call_traced(*this, stack);
  const KeySet keys = (keys_of_stack(stack) | t_state.included) - t_state.excluded;
  const bool barrier =
      keys.has(Key::kAutograd) && differentiation_ == Differentiation::kMissing && !retired_;
  const auto call = [&] { barrier ? run_below_barrier(keys, stack) : run(keys, stack); };
  if (!events::on()) [[likely]] {
    call();
    return;
  }
  CallRecord record(*this);
  record_arguments(record, stack);
  record.enter();
  try {
    call();
  } catch (const Error& error) {
    record.failed(error);
    throw;
  }
  for (const IValue& v : stack) each_tensor(v, [&](const Tensor& t) { record.result(t); });
  record.leave();
}

// ---- Library

Library::Library(std::string name_space, Kind kind, std::string location, std::string object)
    : namespace_(std::move(name_space)),
      kind_(kind),
      location_(std::move(location)),
      object_(std::move(object)) {
  check_kind(is_word(namespace_), ErrorKind::kValue, "library: not a namespace: '", namespace_,
             "'");
  check_kind(namespace_ != "aten" && namespace_ != "prim", ErrorKind::kValue, namespace_,
             " is a reserved namespace: its operators are declared in csrc/ops; please use another "
             "name for your library");
  if (kind_ == Kind::kImplement) return;
  const std::lock_guard guard(g_libraries_lock);
  if (kind_ == Kind::kDefine) {
    const auto [previous, entered] = definers().try_emplace(namespace_, location_);
    check(entered, "Only a single UH_LIBRARY can be used to register the namespace ", namespace_,
          "; please put all of your definitions in a single UH_LIBRARY block. If you were trying "
          "to specify implementations, consider using UH_LIBRARY_IMPL (which can be duplicated). "
          "If you really intended to define operators for a single namespace in a distributed "
          "way, you can use UH_LIBRARY_FRAGMENT to explicitly indicate this. Previous registration "
          "of UH_LIBRARY was registered at ",
          previous->second, "; latest registration was registered at ", location_);
  }
  libraries().emplace(namespace_, this);
}

Library::~Library() {
  for (BoxedOperator* op : implemented_) op->remove_kernels_of(*this);
  for (BoxedOperator* op : defined_) {
    Dispatcher::instance().remove(*op);
    op->retire();
  }
  if (kind_ == Kind::kImplement) return;
  const std::lock_guard guard(g_libraries_lock);
  if (kind_ == Kind::kDefine) definers().erase(namespace_);
  std::erase_if(libraries(), [&](const auto& entry) { return entry.second == this; });
}

std::string_view Library::without_namespace(std::string_view name) const {
  const size_t end = std::min(name.find('('), name.size());
  const size_t at = name.substr(0, end).find("::");
  if (at == std::string_view::npos) return name;
  check_kind(name.substr(0, at) == namespace_, ErrorKind::kValue, "library ", namespace_, ": '",
             name.substr(0, end), "' is in another namespace");
  return name.substr(at + 2);
}

BoxedOperator& Library::define(std::string_view schema) {
  check(kind_ != Kind::kImplement, "library ", namespace_,
        ": an IMPL library cannot define operators; use DEF or FRAGMENT");
  // Never freed (see the top of library.h), not even at exit.
  static auto& operators = *new std::vector<BoxedOperator*>;
  auto op = std::make_unique<BoxedOperator>(namespace_, without_namespace(schema));
  op->origin_ = message(namespace_, "::", op->schema_text(), "\n", location_, "\n", object_);
  op->fake_kernel_hint_ = fake_kernel_hint_;
  Dispatcher::instance().enter(*op, namespace_);
  defined_.push_back(op.get());
  const std::lock_guard guard(g_libraries_lock);
  return *operators.emplace_back(op.release());
}

void Library::set_python_module(std::string_view module, std::string_view context) {
  fake_kernel_hint_ = message("; you may need to import the '", module,
                              "' Python module to load the fake impl. ", context);
}

BoxedOperator& Library::find(std::string_view name) const {
  const std::string full = namespace_ + "::" + std::string(without_namespace(name));
  auto* op = dynamic_cast<BoxedOperator*>(Dispatcher::instance().find(full));
  check(op != nullptr, "library: no operator ", full, " to implement; define its schema first");
  return *op;
}

void Library::implement(std::string_view name, KernelTarget target, BoxedKernel kernel,
                        std::string_view kernel_name) {
  BoxedOperator& op = find(name);
  op.set_kernel(
      target,
      std::make_shared<const BoxedOperator::Kernel>(BoxedOperator::Kernel{std::move(kernel), this}),
      kernel_name);
  implemented_.push_back(&op);
}

int64_t recorded_schema(const OperatorInfo& op) {
  if (op.name_space() == "aten") return op.recorded_name();
  const auto* boxed = dynamic_cast<const BoxedOperator*>(&op);
  return boxed ? boxed->recorded_origin() : op.recorded_name();
}

bool is_library_namespace(std::string_view name_space) {
  const std::lock_guard guard(g_libraries_lock);
  return libraries().find(name_space) != libraries().end();
}

}  // namespace uh
