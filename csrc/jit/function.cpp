#include "jit/function.h"

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "jit/builtins/builtin.h"
#include "jit/run/executor.h"
#include "jit/text/print.h"
#include "jit/trace/tracing_state.h"

namespace uh::jit {
namespace {

std::atomic<int64_t> g_alive{0};

const char* python_name(const IValue& value) {
  if (value.is_none()) return "NoneType";
  if (value.list() || value.get_if<Dims>() || value.get_if<std::vector<Tensor>>() ||
      value.get_if<std::vector<double>>())
    return "list";
  if (value.get_if<Tensor>()) return "Tensor";
  if (value.get_if<int64_t>()) return "int";
  if (value.get_if<double>()) return "float";
  if (value.get_if<bool>()) return "bool";
  if (value.get_if<std::string>()) return "str";
  if (value.tuple()) return "tuple";
  if (value.dict()) return "dict";
  if (value.get_if<Scalar>()) return "complex";
  return value.object() ? "Object" : "object";
}

bool fit(IValue& value, const Type& type);

std::string_view last_word(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// Converts an object, attribute by attribute, to the class of the same name that was loaded from a
// file.
bool fit_class(IValue& value, const ClassType& type) {
  const Object* object = value.object();
  if (!object || !type_of(value)->is(TypeKind::kClass) || !type.is_plain()) return false;
  const auto& from = static_cast<const ClassType&>(*object->type.get());
  if (!from.is_plain() || last_word(from.name()) != last_word(type.name())) return false;
  const IValue result = new_object(const_cast<ClassType&>(type));
  for (size_t i = 0; i < type.attributes().size(); ++i) {
    const int64_t slot = from.slot(type.attributes()[i].name);
    if (slot < 0 || static_cast<size_t>(slot) >= object->slots.size()) return false;
    IValue content = object->slots[static_cast<size_t>(slot)];
    if (!fit(content, *type.attributes()[i].type)) return false;
    result.object()->slots[i] = std::move(content);
  }
  result.object()->written();
  value = result;
  return true;
}

// Converts an Enum member to that of the Enum of the same name that was loaded from a file.
bool fit_enum(IValue& value, const Type& type) {
  const auto* expected = dynamic_cast<const EnumType*>(&type);
  const EnumType* argument = enum_of(value);
  if (!expected || !argument || last_word(argument->name()) != last_word(expected->name()))
    return false;
  IValue member = expected->member(*value.object()->slots[0].get_if<std::string>());
  if (member.is_none() || !equal(member.object()->slots[1], value.object()->slots[1])) return false;
  value = std::move(member);
  return true;
}

template <class T>
bool fits_number(IValue& value) {
  if (value.get_if<T>()) return true;
  // A tensor of one element is accepted as a number.
  if (const Tensor* t = value.get_if<Tensor>()) {
    if (!*t || t->numel() != 1) return false;
    const char* name = std::is_same_v<T, int64_t>  ? "aten::Int.Tensor"
                       : std::is_same_v<T, double> ? "aten::Float.Tensor"
                                                   : "aten::Bool.Tensor";
    const Builtin* builtin = find_builtin(name);
    if (!builtin) return false;
    Stack stack{std::move(value)};
    builtin->call(stack, 1);
    value = std::move(stack.back());
    return value.get_if<T>() != nullptr;
  }
  const int64_t* i = value.get_if<int64_t>();
  const bool* b = value.get_if<bool>();
  if constexpr (std::is_same_v<T, bool>) {
    const double* d = value.get_if<double>();
    if (i) value = IValue(*i != 0);
    if (d) value = IValue(*d != 0);
    if (value.is_none()) value = IValue(false);  // as Python's bool(None)
    return value.get_if<bool>() != nullptr;
  } else {
    if (b) {
      value = IValue(static_cast<T>(*b));
    } else if (i) {
      value = IValue(static_cast<T>(*i));
    }
    return value.get_if<T>() != nullptr;
  }
}

// Converts an argument to this type as a call from Python allows; returns false if it does not
// match. A container that needs no conversion stays the same object.
bool fit(IValue& value, const Type& type) {
  switch (type.kind()) {
    case TypeKind::kAny: return true;
    case TypeKind::kTensor: {
      const Tensor* t = value.get_if<Tensor>();
      return t && *t &&
             (type.facts().nothing() ||
              is_instance(value, *unshaped(TypeRef::share(const_cast<Type*>(&type)))));
    }
    case TypeKind::kInt: return value.get_if<DType>() || fits_number<int64_t>(value);
    case TypeKind::kFloat: return fits_number<double>(value);
    case TypeKind::kBool: return fits_number<bool>(value);
    case TypeKind::kComplex:
      if (value.get_if<double>() || value.get_if<int64_t>() || value.get_if<bool>())
        value = IValue(Scalar(from_value<Scalar>(value).to_complex()));
      return value.get_if<Scalar>() != nullptr;
    case TypeKind::kOptional: return value.is_none() || fit(value, *type.element());
    case TypeKind::kUnion: {
      if (is_instance(value, type)) return true;
      return std::any_of(type.inner().begin(), type.inner().end(), [&](const TypeRef& member) {
        IValue fitted = value;
        if (!fit(fitted, *member)) return false;
        value = std::move(fitted);
        return true;
      });
    }
    case TypeKind::kClass:
      return is_instance(value, type) || fit_class(value, static_cast<const ClassType&>(type));
    case TypeKind::kEnum: return is_instance(value, type) || fit_enum(value, type);
    case TypeKind::kList: {
      value = with_lists(std::move(value));
      if (const Tuple* tuple = value.tuple()) value = make_container<List>(tuple->items);
      List* list = value.list();
      if (!list) return false;
      const bool fits = std::all_of(list->items.begin(), list->items.end(),
                                    [&](IValue& item) { return fit(item, *type.element()); });
      list->written();
      return fits;
    }
    case TypeKind::kTuple: {
      const Tuple* tuple = value.tuple();
      const List* list = value.list();
      if (!tuple && !list) return false;
      std::vector<IValue> items = tuple ? tuple->items : list->items;
      if (items.size() != type.inner().size()) return false;
      for (size_t i = 0; i < items.size(); ++i)
        if (!fit(items[i], *type.inner()[i])) return false;
      value = make_container<Tuple>(std::move(items));
      return true;
    }
    case TypeKind::kDict: {
      Dict* dict = value.dict();
      if (!dict) return false;
      for (const auto& [key, dict_value] : dict->items()) {
        IValue k = key, v = dict_value;
        if (!fit(k, *type.inner()[0]) || !fit(v, *type.inner()[1])) return false;
        if (!equal(v, dict_value) || v.variant().index() != dict_value.variant().index())
          dict->put(key, std::move(v));
      }
      return true;
    }
    default: return is_instance(value, type);
  }
}

}  // namespace

Function::Function(std::string name, GraphRef graph)
    : id_(graph->take_function()), name_(std::move(name)), graph_(std::move(graph)) {
  ++g_alive;
}
Function::~Function() { --g_alive; }
int64_t Function::alive() { return g_alive; }

Executor& Function::executor() {
  std::call_once(prepared_, [this] { executor_ = std::make_unique<Executor>(*this); });
  return *executor_;
}

std::string Function::unqualified_name() const {
  const size_t dot = name_.find_last_of('.');
  return dot == std::string::npos ? name_ : name_.substr(dot + 1);
}

// The graph's input "x.1" is the parameter x.
std::string Function::parameter_name(size_t i) const {
  const std::string& name = graph_->inputs()[i]->name();
  return name.substr(0, name.find('.'));
}

std::string Function::schema_text() const {
  const auto& inputs = graph_->inputs();
  std::string text = unqualified_name() + "(";
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i) text += ", ";
    const Type& type = *inputs[i]->type();
    const bool self = i == 0 && type.is(TypeKind::kClass) && parameter_name(i) == "self";
    text += self ? type.text() + " self"
                 : unshaped(inputs[i]->type())->text() + " " + parameter_name(i);
    if (i + defaults_.size() >= inputs.size())
      text += "=" + print(defaults_[i + defaults_.size() - inputs.size()]);
  }
  text += ") -> ";
  const auto& outputs = graph_->outputs();
  if (outputs.size() == 1) return text + unshaped(outputs[0]->type())->text();
  text += "(";
  for (size_t i = 0; i < outputs.size(); ++i)
    text += (i ? ", " : "") + unshaped(outputs[i]->type())->text();
  return text + ")";
}

void Function::convert(IValue& value, size_t i) const {
  const TypeRef& type = graph_->inputs()[i]->type();
  // Fast path: a defined tensor.
  if (type->is(TypeKind::kTensor)) [[likely]]
    if (const Tensor* t = value.get_if<Tensor>(); t && *t) return;
  if (fit(value, *type)) return;
  fail(ErrorKind::kRuntime, unqualified_name(), "() Expected a value of type '",
       unshaped(type)->annotation(), "' for argument '", parameter_name(i),
       "' but instead found type '", python_name(value), "'.\nPosition: ", i,
       "\nValue: ", print(value), "\nDeclaration: ", schema_text());
}

void Function::bind(Stack& stack, size_t argument, Keywords keywords) const {
  const size_t n = graph_->inputs().size();
  if (argument > n) {
    fail(ErrorKind::kRuntime, unqualified_name(), "() expected at most ", n,
         " argument(s) but received ", argument + keywords.size(),
         " argument(s). Declaration: ", schema_text());
  }
  const size_t first = stack.size() - argument;
  if (argument < n || !keywords.empty()) {
    std::vector<bool> known(n, false);
    std::fill_n(known.begin(), argument, true);
    stack.resize(first + n);
    for (auto& [name, value] : keywords) {
      size_t i = 0;
      while (i < n && parameter_name(i) != name) ++i;
      if (i == n) {
        fail(ErrorKind::kRuntime, "Unknown keyword argument '", name, "' for operator '",
             unqualified_name(), "'. Schema: ", schema_text());
      }
      if (known[i]) {
        fail(ErrorKind::kRuntime, "Argument '", name,
             "' specified both as positional and keyword argument. Schema: ", schema_text());
      }
      stack[first + i] = std::move(value);
      known[i] = true;
    }
    for (size_t i = argument; i < n; ++i) {
      if (known[i]) continue;
      if (i + defaults_.size() < n) {
        fail(ErrorKind::kRuntime, unqualified_name(), "() is missing value for argument '",
             parameter_name(i), "'. Declaration: ", schema_text());
      }
      stack[first + i] = defaults_[i + defaults_.size() - n];
    }
  }
  for (size_t i = 0; i < n; ++i) convert(stack[first + i], i);
}

void Function::call(Stack& stack) {
  if (TracingState::records()) [[unlikely]] {
    TracingState::current().call(*this, stack);
    return;
  }
  bind(stack, stack.size());
  executor().run(stack);
}

}  // namespace uh::jit
