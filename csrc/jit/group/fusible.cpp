#include "jit/group/fusible.h"

#include <algorithm>

#include "backend/cpu/reduce/reducer.h"
#include "dispatch/dispatcher.h"
#include "jit/schema_matching/overload.h"

namespace uh::jit {

using fused::Builder;
using fused::Term;
using fused::TermKind;

const IValue* constant_of(const Value& value) {
  static const auto* none = new IValue;
  if (const IValue* constant = value.constant()) return constant;
  return value.node()->is("prim::Constant") && value.type()->is(TypeKind::kNone) ? none : nullptr;
}

std::optional<TermKind> kind_of(const Type& type) {
  if (!type.is(TypeKind::kTensor)) return std::nullopt;
  const TensorProperties& facts = type.facts();
  if (facts.dtype == DType::kUndefined || !facts.sizes) return std::nullopt;
  if (facts.device != Device::kUndefined && !fused::runs_on(facts.device)) return std::nullopt;
  return TermKind{facts.dtype, facts.sizes->empty()};
}

TypeRef assumed(const TypeRef& type) {
  if (!type->is(TypeKind::kTensor) || kind_of(*type)) return type;
  TensorProperties facts = type->facts();
  if (facts.device != Device::kUndefined && !fused::runs_on(facts.device)) return type;
  if (facts.dtype == DType::kUndefined) facts.dtype = DType::kFloat32;
  if (!facts.sizes) facts.sizes = Dims{-1};
  return tensor_type(std::move(facts));
}

std::optional<Scalar::Kind> number_kind(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kBool: return Scalar::Kind::kBool;
    case TypeKind::kInt: return Scalar::Kind::kInt;
    case TypeKind::kFloat: return Scalar::Kind::kFloat;
    case TypeKind::kComplex: return Scalar::Kind::kComplex;
    default: return std::nullopt;
  }
}

std::optional<Scalar> number_of(const IValue& value) {
  if (const auto* i = value.get_if<int64_t>()) return Scalar(*i);
  if (const auto* d = value.get_if<double>()) return Scalar(*d);
  if (const auto* b = value.get_if<bool>()) return Scalar(*b);
  if (const auto* s = value.get_if<Scalar>()) return *s;
  return std::nullopt;
}

std::optional<DType> dtype_of(const IValue& value) {
  if (const auto* dtype = value.get_if<DType>()) return *dtype;
  if (const auto* code = value.get_if<int64_t>()) return dtype_of_pytorch_code(*code);
  return std::nullopt;
}

namespace {

std::optional<fused::StepArgument> constant_argument(const IValue& value, const SchemaType& type) {
  if (value.is_none()) return fused::StepArgument();
  if (type.base() == SchemaKind::kScalarType) {
    const auto dtype = dtype_of(value);
    return dtype ? std::optional<fused::StepArgument>(*dtype) : std::nullopt;
  }
  if (const auto number = number_of(value)) return fused::StepArgument(*number);
  if (const auto* text = value.get_if<std::string>()) return fused::StepArgument(*text);
  if (const auto* dtype = value.get_if<DType>()) return fused::StepArgument(*dtype);
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<fused::StepArgument>> step_arguments(const Node& node,
                                                               const TermOf& term) {
  if (!node.op() || node.op()->name_space() != "aten" || node.outputs().size() != 1)
    return std::nullopt;
  if (node.inputs().size() != node.op()->schema().arguments.size()) return std::nullopt;
  std::vector<fused::StepArgument> arguments;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    Value* input = node.input(i);
    const IValue* constant = constant_of(*input);
    if (constant && !constant->get_if<Tensor>()) {
      auto argument = constant_argument(*constant, node.op()->schema().arguments[i].type);
      if (!argument) return std::nullopt;
      arguments.push_back(std::move(*argument));
    } else {
      const auto match = term(input);
      if (!match) return std::nullopt;
      arguments.emplace_back(*match);
    }
  }
  return arguments;
}

Value* insert_call(Graph& graph, std::string_view name, const std::vector<Value*>& inputs) {
  const OperatorInfo* op = Dispatcher::instance().find(name);
  check_kind(op != nullptr, ErrorKind::kInternal, "graph: there is no operator ",
             std::string(name));
  return graph.insert(graph.create_call(*op, inputs))->output();
}

std::optional<TermKind> as_step(const Node& node, const std::function<TypeRef(Value*)>& type_of) {
  // The cheap checks first: they reject most nodes.
  if (!node.op() || node.outputs().size() != 1 || !node.output()->type()->is(TypeKind::kTensor))
    return std::nullopt;
  if (node.writes()) return std::nullopt;
  Builder scratch;
  std::vector<std::pair<Value*, Term>> output;
  const auto arguments = step_arguments(node, [&](Value* input) -> std::optional<Term> {
    for (const auto& [value, term] : output)
      if (value == input) return term;
    const TypeRef type = type_of(input);
    const auto kind = kind_of(*type);
    const auto number = number_kind(*type);
    if (!kind && !number) return std::nullopt;
    output.emplace_back(input, kind ? scratch.input(*kind) : scratch.number(*number));
    return output.back().second;
  });
  if (!arguments) return std::nullopt;
  const auto result = scratch.step(node.op()->full_name(), *arguments);
  return result ? std::optional(scratch.kind(*result)) : std::nullopt;
}

namespace {

// The dimensions of a `dim` argument, counted from the last, which is -1; nullopt if they are not
// constant. A rank of -1 is unknown.
std::optional<std::vector<int64_t>> dims_of(const Value& value, int64_t rank) {
  std::vector<int64_t> dims;
  const auto add = [&](const IValue& item) {
    const auto* d = item.get_if<int64_t>();
    if (!d || (rank < 0 ? *d >= 0 : *d < -rank || *d >= rank)) return false;
    dims.push_back(*d < 0 ? *d : *d - rank);
    return true;
  };
  if (value.node()->is("prim::ListConstruct")) {
    for (const Value* item : value.node()->inputs())
      if (const IValue* constant_item = item->constant(); !constant_item || !add(*constant_item))
        return std::nullopt;
    return dims;
  }
  const IValue* constant = constant_of(value);
  if (!constant) return std::nullopt;
  if (constant->is_none()) return dims;
  if (const Dims* all = constant->get_if<Dims>()) {
    for (const int64_t d : *all)
      if (!add(d)) return std::nullopt;
    return dims;
  }
  if (const List* list = constant->list()) {
    for (const IValue& item : list->items)
      if (!add(item)) return std::nullopt;
    return dims;
  }
  return add(*constant) ? std::optional(dims) : std::nullopt;
}

}  // namespace

std::optional<Reduction> as_reduction(const Node& node, const Type& input) {
  if (!node.op() || node.op()->name_space() != "aten") return std::nullopt;
  std::string op = combined(*node.op()).full_name();
  if (!find_fold_operator(op)) return std::nullopt;
  if (!input.is(TypeKind::kTensor) || node.writes()) return std::nullopt;
  const TensorProperties& facts = input.facts();
  const int64_t rank = facts.sizes ? facts.sizes->ndim() : -1;
  if (rank == 0 || (facts.dtype != DType::kUndefined && !is_floating(facts.dtype)))
    return std::nullopt;
  Reduction result{std::move(op), Builder::kAllDims, false};
  const auto& arguments = node.op()->schema().arguments;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const Value& value = *node.input(i);
    const IValue* constant = constant_of(value);
    if (arguments[i].name == "dim") {
      auto dims = dims_of(value, rank);
      if (!dims) return std::nullopt;
      std::sort(dims->begin(), dims->end());
      const auto n = static_cast<int64_t>(dims->size());
      for (int64_t k = 0; k < n; ++k)
        if ((*dims)[static_cast<size_t>(k)] != k - n) return std::nullopt;
      if (n != 0 && n != rank) result.dims = static_cast<int>(n);
    } else if (arguments[i].name == "keepdim") {
      const bool* keep = constant ? constant->get_if<bool>() : nullptr;
      if (!keep) return std::nullopt;
      result.keepdim = *keep;
    } else if (arguments[i].name == "dtype") {
      if (!constant) return std::nullopt;
      if (!constant->is_none() && dtype_of(*constant) != facts.dtype) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  return result;
}

}  // namespace uh::jit
