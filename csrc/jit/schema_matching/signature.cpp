#include "jit/schema_matching/signature.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "dispatch/library.h"
#include "jit/builtins/builtin.h"
#include "jit/ir/type_predicates.h"
#include "jit/text/parse_cursor.h"

namespace uh::jit {
namespace {

std::unique_ptr<Signature> read(const OperatorInfo& op) {
  auto output = std::make_unique<Signature>();
  const FunctionSchema& schema = op.schema();
  output->builtin = as_builtin(&op) != nullptr;
  for (const Argument& argument : schema.arguments) {
    if (argument.type.is(SchemaKind::kVariadic)) {
      output->variadic = true;
      continue;
    }
    Parameter p;
    p.type = jit_type(argument.type);
    p.name = argument.name;
    p.fixed_size = argument.type.without_optional().fixed_size;
    p.has_default = argument.has_default();
    p.keyword_only = argument.keyword_only;
    p.written = argument.is_write();
    p.takes_number = argument.takes_number;
    if (p.has_default) p.default_value = argument.default_value->value();
    output->parameters.push_back(std::move(p));
  }
  for (const Argument& result : schema.returns) {
    output->results.push_back(jit_type(result.type));
    output->result_names.emplace_back(result.name);
  }
  // Two overloads of one name with equal argument and result types are ambiguous in a graph's text.
  const bool like_another = schema.full_name() == "max.out" || schema.full_name() == "min.out";
  if (!output->builtin && schema.returns.empty() && !like_another) {
    for (size_t i = 0; i < output->parameters.size(); ++i) {
      if (!output->parameters[i].written || !output->parameters[i].type->is(TypeKind::kTensor))
        continue;
      output->returned_parameters.push_back(i);
      output->results.push_back(tensor_type());
      output->result_names.emplace_back();
    }
  }
  return output;
}

std::vector<TypeRef> jit_types(std::span<const SchemaType> types) {
  std::vector<TypeRef> all;
  for (const SchemaType& type : types) all.push_back(jit_type(type));
  return all;
}

bool is_generic(const Type& type) {
  return is_type_variable(type) ||
         (!type.is(TypeKind::kClass) &&
          std::any_of(type.inner().begin(), type.inner().end(),
                      [](const TypeRef& inner) { return is_generic(*inner); }));
}

}  // namespace

TypeRef jit_type(const SchemaType& type) {
  switch (type.kind) {
    case SchemaKind::kTensor: return tensor_type();
    case SchemaKind::kScalar: return make_type(TypeKind::kNumber);
    case SchemaKind::kInt:
    // Graphs have PyTorch's codes of these, as ints.
    case SchemaKind::kScalarType:
    case SchemaKind::kLayout:
    case SchemaKind::kMemoryFormat: return make_type(TypeKind::kInt);
    case SchemaKind::kFloat: return make_type(TypeKind::kFloat);
    case SchemaKind::kComplex: return make_type(TypeKind::kComplex);
    case SchemaKind::kBool: return make_type(TypeKind::kBool);
    case SchemaKind::kString: return make_type(TypeKind::kString);
    case SchemaKind::kDevice: return make_type(TypeKind::kDevice);
    case SchemaKind::kNone: return make_type(TypeKind::kNone);
    case SchemaKind::kAnyEnum: return make_type(TypeKind::kEnum);
    case SchemaKind::kAny:
    case SchemaKind::kAnyClass:
    case SchemaKind::kGenerator:
    case SchemaKind::kVariadic: return make_type(TypeKind::kAny);
    case SchemaKind::kVariable: return type_variable(type.name);
    case SchemaKind::kNamed: return parse_type(type.name);
    case SchemaKind::kOptional: return optional_of(jit_type(type.element()));
    case SchemaKind::kList: return list_of(jit_type(type.element()));
    case SchemaKind::kTuple: return tuple_of(jit_types(type.inner()));
    case SchemaKind::kDict: return dict_of(jit_type(type.first[0]), jit_type(type.first[1]));
    case SchemaKind::kFuture: return future_of(jit_type(type.element()));
  }
  return make_type(TypeKind::kAny);
}

const Signature& signature_of(const OperatorInfo& op) {
  static std::mutex lock;
  static auto* all = new std::unordered_map<const OperatorInfo*, std::unique_ptr<Signature>>;
  std::lock_guard guard(lock);
  auto& cached_signature = (*all)[&op];
  if (!cached_signature) cached_signature = read(op);
  return *cached_signature;
}

std::vector<Value*> returned_inputs(const Node& node) {
  std::vector<Value*> all;
  if (!node.op() || !node.op()->schema().returns.empty()) return all;
  for (const size_t i : signature_of(*node.op()).returned_parameters)
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
  // A list that is only read may have more specific elements: Tensor[] for Tensor?[].
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
  // Operands may be numbers, but not all of them: calls on numbers only are for builtins.
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
