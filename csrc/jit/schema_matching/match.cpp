#include "jit/schema_matching/match.h"

#include <algorithm>

#include "jit/text/parse_cursor.h"

namespace uh::jit {
namespace {

const TypeRef& without_optional(const TypeRef& type) {
  return type->is(TypeKind::kOptional) ? type->element() : type;
}

bool may_be_none(const Type& type) {
  return type.is(TypeKind::kOptional) || type.is(TypeKind::kNone);
}

// The builtin for PyTorch's implicit conversion between these types; null if there is
// none.
const char* conversion(const Type& actual, const Type& expected) {
  using K = TypeKind;
  const K from = actual.kind(), to = expected.kind();
  if (from == K::kTensor) {
    if (to == K::kFloat) return "aten::FloatImplicit";
    if (to == K::kInt) return "aten::IntImplicit";
    if (to == K::kComplex) return "aten::ComplexImplicit";
    if (to == K::kNumber) return "aten::ScalarImplicit";
  }
  const bool number = from == K::kInt || from == K::kBool || from == K::kNumber;
  if (number && to == K::kFloat) return "aten::Float";
  if ((number || from == K::kFloat) && to == K::kComplex) return "aten::Complex";
  if ((from == K::kBool || from == K::kNumber) && to == K::kInt) return "aten::Int";
  if (from == K::kBool && to == K::kNumber) return "aten::Int";
  if (from == K::kString && to == K::kDevice) return "aten::device";
  return nullptr;
}

// True for [] without an annotation, which is a Tensor[] until its element type is known.
bool is_empty_list(const Value& value) {
  return value.node()->is("prim::ListConstruct") && value.node()->inputs().empty() &&
         value.type()->is(TypeKind::kList) && value.type()->element()->is(TypeKind::kTensor);
}

}  // namespace

SchemaMatch::SchemaMatch(const OperatorInfo& op, const std::vector<Value*>& args,
                         const std::vector<NamedValue>& kwargs, bool conversions)
    : op_(op), signature_(signature_of(op)), conversions_(conversions) {
  plan_all(args, kwargs);
  if (ok() && !some_tensor())
    reason_ = "Expected a Tensor among the arguments, but they are numbers only.";
}

// Assigns parameters: by position, then by name, then by default.
void SchemaMatch::plan_all(const std::vector<Value*>& args, const std::vector<NamedValue>& kwargs) {
  const auto& parameters = signature_.parameters;
  std::vector<bool> used(kwargs.size(), false);
  size_t next = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    const auto named = std::find_if(kwargs.begin(), kwargs.end(),
                                    [&](const NamedValue& each) { return each.name == p.name; });
    if (!p.keyword_only && next < args.size()) {
      if (named != kwargs.end()) {
        reason_ = message("Argument ", p.name, " is given by position and by name.");
        return;
      }
      if (takes_rest(i, args) && args.size() > next) {
        const std::vector<Value*> tail(args.begin() + static_cast<std::ptrdiff_t>(next),
                                       args.end());
        const Type& first = *tail[0]->type();
        const bool list = tail.size() == 1 && (first.is(TypeKind::kList) ||
                                               first.is(TypeKind::kTuple) || may_be_none(first));
        if (!list) {
          if (!plan_list(p, tail)) return;
          next = args.size();
          continue;
        }
      }
      if (!plan(p, args[next++])) return;
    } else if (named != kwargs.end()) {
      used[static_cast<size_t>(named - kwargs.begin())] = true;
      if (!plan(p, named->value)) return;
    } else if (p.has_default) {
      plans_.push_back({ConversionKind::kDefault, {}, nullptr, &p});
    } else {
      reason_ = message("Argument ", p.name, " not provided.");
      return;
    }
  }
  if (signature_.variadic) {
    variadic_.assign(args.begin() + static_cast<std::ptrdiff_t>(next), args.end());
    next = args.size();
  }
  if (next < args.size()) {
    reason_ = message("Expected at most ", next, " arguments but found ", args.size(),
                      " positional arguments.");
    return;
  }
  for (size_t i = 0; i < kwargs.size(); ++i) {
    if (used[i]) continue;
    reason_ = message("Keyword argument ", kwargs[i].name, " unknown.");
    return;
  }
}

// `zeros(2, 3)`: the last positional list may be passed item by item.
bool SchemaMatch::takes_rest(size_t i, const std::vector<Value*>& args) const {
  const auto& parameters = signature_.parameters;
  const Parameter& p = parameters[i];
  const bool last = i + 1 == parameters.size() || parameters[i + 1].keyword_only;
  return conversions_ && last && !args.empty() && p.fixed_size == 0 &&
         without_optional(p.type)->is(TypeKind::kList) &&
         !is_type_variable(*without_optional(p.type)->element());
}

bool SchemaMatch::refuse(const Parameter& parameter, const TypeRef& expected, const Value* value) {
  reason_ =
      message("Expected a value of type '", expected->annotation(), "' for argument '",
              parameter.name, "' but instead found type '", value->type()->annotation(), "'.");
  return false;
}

bool SchemaMatch::convert(const TypeRef& expected, const Parameter& parameter, Item& item) const {
  const Type& actual = *item.value->type();
  // A bool is a number to operators, which support bools; builtins' Scalar does not.
  const bool bare =
      signature_.builtin && expected->is(TypeKind::kNumber) && actual.is(TypeKind::kBool);
  if (!bare && fits(actual, *expected, parameter)) return true;
  if (!conversions_ || parameter.written) return false;
  const TypeRef& to = may_be_none(actual) ? expected : without_optional(expected);
  item.conversion = conversion(actual, *to);
  return item.conversion != nullptr;
}

bool SchemaMatch::plan(const Parameter& parameter, Value* value) {
  const Type& actual = *value->type();
  const TypeRef& formal = may_be_none(actual) ? parameter.type : without_optional(parameter.type);
  const bool list = formal->is(TypeKind::kList);
  if (list && actual.is(TypeKind::kTuple))
    return plan_list(parameter, std::vector<Value*>(actual.inner().size(), value));
  // One int for int[2]; operators accept one for every int[], as dimensions and sizes: x.sum(1).
  const bool broadcasts = parameter.fixed_size != 0 ||
                          (list && !signature_.builtin && formal->element()->is(TypeKind::kInt));
  if (list && broadcasts && is_subtype(actual, *formal->element())) {
    const int64_t n = std::max<int64_t>(1, parameter.fixed_size);
    plans_.push_back({ConversionKind::kList, std::vector<Item>(static_cast<size_t>(n), Item{value}),
                      formal->element(), &parameter});
    return true;
  }
  if (list && is_empty_list(*value) && !formal->element()->is(TypeKind::kTensor)) {
    if (const TypeRef bound = bindings_.apply(formal)) {
      plans_.push_back({ConversionKind::kEmptyList, {Item{value}}, bound->element(), &parameter});
      return true;
    }
  }
  reason_ = bindings_.bind(formal, value->type());
  if (!reason_.empty()) {
    reason_ = message("Could not match type ", actual.annotation(), " to ", formal->annotation(),
                      " in argument '", parameter.name, "': ", reason_);
    return false;
  }
  const TypeRef expected = bindings_.apply(formal);
  Item item{value};
  if (!expected || !convert(expected, parameter, item))
    return refuse(parameter, expected ? expected : formal, value);
  plans_.push_back({ConversionKind::kValue, {item}, nullptr, &parameter});
  return true;
}

// A list of these values, or of the elements of a single tuple.
bool SchemaMatch::plan_list(const Parameter& parameter, const std::vector<Value*>& values) {
  const TypeRef& formal = without_optional(parameter.type)->element();
  const bool tuple = !values.empty() && values[0]->type()->is(TypeKind::kTuple);
  Plan plan{tuple ? ConversionKind::kFromTuple : ConversionKind::kList, {}, nullptr, &parameter};
  for (size_t i = 0; i < values.size(); ++i) {
    const TypeRef& argument = tuple ? values[0]->type()->inner()[i] : values[i]->type();
    const std::string reason = bindings_.bind(formal, argument);
    const TypeRef expected = reason.empty() ? bindings_.apply(formal) : nullptr;
    Item item{values[i]};
    const bool good =
        expected && (tuple ? is_subtype(*argument, *expected) : convert(expected, parameter, item));
    if (!good) return refuse(parameter, tuple ? parameter.type : formal, values[i]);
    plan.items.push_back(item);
  }
  plan.type = bindings_.apply(formal);
  if (!plan.type) plan.type = tensor_type();
  plans_.push_back(std::move(plan));
  return true;
}

// True if an operand is a tensor: operands may be numbers, but calls on numbers only are for
// builtins.
bool SchemaMatch::some_tensor() const {
  bool operands = false;
  for (const Plan& plan : plans_) {
    if (!without_optional(plan.parameter->type)->is(TypeKind::kTensor)) continue;
    operands |= plan.parameter->takes_number;
    if (plan.conversion_kind == ConversionKind::kValue &&
        plan.items[0].value->type()->is(TypeKind::kTensor))
      return true;
  }
  return !operands;
}

Value* SchemaMatch::emit(Graph& graph, const Item& item) const {
  return item.conversion ? emit_builtin_call(graph, item.conversion, {item.value})->output()
                         : item.value;
}

Value* SchemaMatch::emit(Graph& graph, const Plan& plan) const {
  if (plan.conversion_kind == ConversionKind::kDefault) {
    const IValue& value = plan.parameter->default_value;
    Value* constant = graph.insert_constant(value);
    return constant;
  }
  if (plan.conversion_kind == ConversionKind::kValue) return emit(graph, plan.items[0]);
  std::vector<Value*> items;
  if (plan.conversion_kind == ConversionKind::kFromTuple) {
    Value* tuple = plan.items[0].value;
    Node* unpack = graph.insert(graph.create("prim::TupleUnpack", {tuple}, 0));
    for (const TypeRef& type : tuple->type()->inner()) items.push_back(unpack->add_output(type));
  } else if (plan.conversion_kind == ConversionKind::kList) {
    for (const Item& item : plan.items) items.push_back(emit(graph, item));
  }
  Node* list = graph.insert(graph.create("prim::ListConstruct", items, 0));
  return list->add_output(list_of(plan.type));
}

Node* SchemaMatch::emit(Graph& graph) const {
  std::vector<Value*> inputs;
  for (const Plan& plan : plans_) inputs.push_back(emit(graph, plan));
  inputs.insert(inputs.end(), variadic_.begin(), variadic_.end());
  Node* node = graph.insert(graph.create(Symbol(op_.qualified_name()), inputs, 0));
  node->set_op(&op_);
  for (const TypeRef& type : signature_.results) {
    const TypeRef bound = bindings_.apply(type);
    node->add_output(bound ? bound : make_type(TypeKind::kAny));
  }
  return node;
}

}  // namespace uh::jit
