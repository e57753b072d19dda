#include "jit/schema_matching/signature.h"

#include <cxxabi.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <typeinfo>
#include <unordered_map>

#include "dispatch/library.h"
#include "jit/builtins/builtin.h"
#include "jit/ir/type_predicates.h"
#include "jit/text/parse_cursor.h"

namespace uh::jit {
namespace {

// Which parameters are Operands: schemas call them Tensor, as PyTorch's do, and only the C++ type
// of the operator knows. "uh::Op<uh::Tensor (uh::Operand const&, uh::Scalar const&)>".
std::vector<bool> operands_of(const OperatorInfo& op) {
  std::vector<bool> result;
  if (as_builtin(&op) || dynamic_cast<const BoxedOperator*>(&op)) return result;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(typeid(op).name(), nullptr, nullptr, &status), std::free);
  if (status != 0) return result;
  std::string_view text(name.get());
  text.remove_prefix(std::min(text.find('(') + 1, text.size()));
  int depth = 0;
  size_t from = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '<' || c == '(') ++depth;
    const bool end = depth == 0 && (c == ',' || c == ')');
    if (end) {
      result.push_back(text.substr(from, at - from).find("uh::Operand") != std::string_view::npos);
      from = at + 1;
    }
    if (end && c == ')') break;
    if (c == '>' || c == ')') --depth;
  }
  return result;
}

template <class T>
T read_number(std::string_view text) {
  T value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

IValue number(std::string_view text, const Type& type) {
  const bool is_integer = text.find_first_of(".e") == std::string_view::npos;
  if (type.is(TypeKind::kFloat) || !is_integer) return read_number<double>(text);
  return read_number<int64_t>(text);
}

// The value that a default's text means, for a parameter of this type.
IValue default_of(std::string_view text, const Type& type, int64_t fixed_size) {
  if (text == "None") return IValue();
  if (text == "True" || text == "False") return text == "True";
  if (type.is(TypeKind::kOptional)) return default_of(text, *type.element(), fixed_size);
  if (text.front() == '"' || text.front() == '\'') return Cursor(text, "schema").quoted();
  if (!type.is(TypeKind::kList)) return number(text, type);
  const bool list = text.front() == '[';
  std::vector<IValue> items;
  for (size_t at = list; at < text.size();) {
    const size_t end = std::min(text.find_first_of(",]", at), text.size());
    const size_t first = text.find_first_not_of(' ', at);
    if (first < end) items.push_back(number(text.substr(first, end - first), *type.element()));
    at = end + 1;
  }
  if (!list) items.resize(static_cast<size_t>(std::max<int64_t>(fixed_size, 1)), items.at(0));
  if (type.element()->is(TypeKind::kFloat)) {
    std::vector<double> values;
    for (const IValue& item : items) values.push_back(*item.get_if<double>());
    return values;
  }
  Dims dims;
  for (const IValue& item : items) dims.push_back(*item.get_if<int64_t>());
  return dims;
}

// The 2 of "int[2]? padding"; 0 when it says none.
int64_t size_in(std::string_view type) {
  const size_t at = type.rfind('[');
  int64_t n = 0;
  if (at != std::string_view::npos)
    std::from_chars(type.data() + at + 1, type.data() + type.size(), n);
  return n;
}

std::unique_ptr<Signature> read(const OperatorInfo& op) {
  auto output = std::make_unique<Signature>();
  const Schema& schema = op.schema();
  const std::vector<bool> operands = operands_of(op);
  output->builtin = as_builtin(&op) != nullptr;
  Cursor cursor(schema.text, "schema");
  cursor.word("a name", ".");
  cursor.expect("(");
  for (const Argument& argument : schema.arguments) {
    cursor.eat(',');
    if (argument.type == "...") {
      output->variadic = true;
      cursor.expect("...");
      continue;
    }
    if (cursor.eat('*')) cursor.expect(",");
    cursor.peek();
    const size_t from = cursor.at();
    Parameter p;
    p.type = read_type(cursor, true);
    p.name = argument.name;
    p.fixed_size = size_in(cursor.since(from));
    p.keyword_only = argument.keyword_only;
    p.written = argument.written;
    const size_t i = output->parameters.size();
    p.takes_number = i < operands.size() && operands[i] && p.type->is(TypeKind::kTensor);
    cursor.word("a name");
    if (argument.has_default) {
      cursor.expect("=");
      cursor.expect(argument.fallback);
      p.has_default = true;
      p.fallback = default_of(argument.fallback, *p.type, p.fixed_size);
    }
    output->parameters.push_back(std::move(p));
  }
  for (const Argument& result : schema.results) {
    Cursor type(result.type, "schema");
    output->results.push_back(read_type(type, true));
    output->result_names.push_back(result.name);
  }
  // Two overloads of one name that take and give the same could not be told apart in a text.
  const bool like_another = schema.full_name() == "max.out" || schema.full_name() == "min.out";
  if (!output->builtin && schema.results.empty() && !like_another) {
    for (size_t i = 0; i < output->parameters.size(); ++i) {
      if (!output->parameters[i].written || !output->parameters[i].type->is(TypeKind::kTensor))
        continue;
      output->given_back.push_back(i);
      output->results.push_back(tensor_type());
      output->result_names.emplace_back();
    }
  }
  return output;
}

bool is_generic(const Type& type) {
  return is_type_variable(type) ||
         (!type.is(TypeKind::kClass) &&
          std::any_of(type.inner().begin(), type.inner().end(),
                      [](const TypeRef& inner) { return is_generic(*inner); }));
}

}  // namespace

const Signature& signature_of(const OperatorInfo& op) {
  static std::mutex lock;
  static auto* all = new std::unordered_map<const OperatorInfo*, std::unique_ptr<Signature>>;
  std::lock_guard guard(lock);
  auto& cached_signature = (*all)[&op];
  if (!cached_signature) cached_signature = read(op);
  return *cached_signature;
}

std::vector<Value*> given_back(const Node& node) {
  std::vector<Value*> all;
  if (!node.op() || !node.op()->schema().results.empty()) return all;
  for (const size_t i : signature_of(*node.op()).given_back)
    if (i < node.inputs().size()) all.push_back(node.input(i));
  return all;
}

std::string Bindings::bind(const TypeRef& formal, const TypeRef& actual, bool settled) {
  if (is_type_variable(*formal)) {
    Bound& bound = bound_[formal->text()];
    const TypeRef type = unshaped(actual);
    if (!bound.type) {
      bound = {type, settled};
      return "";
    }
    if (is_subtype(*type, *bound.type)) {
      bound.settled |= settled;
      return "";
    }
    const TypeRef both = bound.settled ? nullptr : unify(bound.type, type);
    if (!both)
      return message("Type variable '", formal->text(), "' previously matched to type ",
                     bound.type->annotation(), " is matched to type ", type->annotation(), ".");
    bound = {both, settled};
    return "";
  }
  if (!is_generic(*formal)) return "";
  if (formal->is(TypeKind::kOptional)) {
    if (actual->is(TypeKind::kNone)) return "";
    return bind(formal->element(), actual->is(TypeKind::kOptional) ? actual->element() : actual,
                settled);
  }
  if (formal->kind() != actual->kind() || formal->inner().size() != actual->inner().size())
    return message("Cannot match ", formal->annotation(), " to ", actual->annotation(), ".");
  settled |= !formal->is(TypeKind::kTuple);
  for (size_t i = 0; i < formal->inner().size(); ++i)
    if (std::string reason = bind(formal->inner()[i], actual->inner()[i], settled); !reason.empty())
      return reason;
  return "";
}

TypeRef Bindings::apply(const TypeRef& type) const {
  if (is_type_variable(*type)) {
    const auto it = bound_.find(type->text());
    return it == bound_.end() ? nullptr : it->second.type;
  }
  if (type->is(TypeKind::kClass) || type->inner().empty()) return type;
  std::vector<TypeRef> inner;
  for (const TypeRef& t : type->inner()) {
    inner.push_back(apply(t));
    if (!inner.back()) return nullptr;
  }
  return make_type(type->kind(), std::move(inner), type->field_names());
}

bool fits(const Type& actual, const Type& expected, const Parameter& parameter) {
  if (is_subtype(actual, expected)) return true;
  if (parameter.takes_number && is_number(actual)) return true;
  if (parameter.written) return false;
  // Who only reads a list may take one of something more special: Tensor[] for Tensor?[].
  const Type& list = expected.is(TypeKind::kOptional) ? *expected.element() : expected;
  return list.is(TypeKind::kList) && actual.is(TypeKind::kList) &&
         is_subtype(*actual.element(), *list.element());
}

std::string check_arguments(const OperatorInfo& op, const std::vector<TypeRef>& actual_types,
                            std::vector<TypeRef>* results) {
  const Signature& signature = signature_of(op);
  const auto& parameters = signature.parameters;
  if (actual_types.size() < parameters.size() ||
      (actual_types.size() > parameters.size() && !signature.variadic))
    return message("it takes ", parameters.size(), " arguments, not ", actual_types.size());
  // Operands may be numbers, but not all of them: numbers among themselves are for the builtins.
  bool operands = false, tensors = false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    operands |= parameters[i].takes_number;
    tensors |= actual_types[i]->is(TypeKind::kTensor) && parameters[i].type->is(TypeKind::kTensor);
  }
  if (operands && !tensors) return "no argument is a Tensor";
  Bindings bindings;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    if (std::string reason = bindings.bind(p.type, actual_types[i]); !reason.empty())
      return message("argument '", p.name, "': ", reason);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    const TypeRef expected = bindings.apply(p.type);
    if (!expected || !fits(*actual_types[i], *expected, p))
      return message("argument '", p.name, "' is a ", (expected ? expected : p.type)->text(),
                     ", and is given a ", actual_types[i]->text());
  }
  if (!results) return "";
  for (const TypeRef& type : signature.results) {
    const TypeRef bound = bindings.apply(type);
    results->push_back(bound ? bound : make_type(TypeKind::kAny));
  }
  return "";
}

}  // namespace uh::jit
