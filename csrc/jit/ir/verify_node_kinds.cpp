#include "jit/ir/verify_node_kinds.h"

#include <algorithm>
#include <unordered_map>

#include "jit/function.h"
#include "jit/ir/verify.h"

namespace uh::jit {
namespace {

using Rule = std::string (*)(const Node& node, bool calls);
using K = TypeKind;

const Type& type_of_input(const Node& node, size_t i) { return *node.input(i)->type(); }

std::string counts(const Node& node, size_t inputs, size_t outputs, size_t blocks = 0) {
  if (node.inputs().size() != inputs)
    return message("it has ", inputs, " inputs, not ", node.inputs().size());
  if (node.outputs().size() != outputs)
    return message("it has ", outputs, " outputs, not ", node.outputs().size());
  if (node.blocks().size() != blocks)
    return message("it has ", blocks, " blocks, not ", node.blocks().size());
  return "";
}

std::string mismatch(const char* noun, const Type& is, const Type& expected) {
  return message(noun, " is a ", is.text(), ", not a ", expected.text());
}

// Agreement in either direction: an output of a specialised call may have more or fewer tensor
// properties.
bool related(const Type& a, const Type& b) {
  return is_unshaped_subtype(a, b) || is_unshaped_subtype(b, a);
}

std::string constant(const Node& node, bool calls) {
  if (std::string reason = counts(node, 0, 1); !reason.empty()) return reason;
  const Type& type = *node.output()->type();
  if (const Attribute* value = node.attribute("value")) {
    if (constant_fits(value->value, type)) return "";
    return message("its value is a ", value->value.type_name(), ", not a ", type.text());
  }
  if (const Attribute* name = node.attribute("name")) {
    if (!type.is(K::kFunction)) return "a constant with a name must be a function";
    return calls && !name->object ? "its function is not there" : "";
  }
  return is_subtype(*make_type(K::kNone), type) ? "" : "a constant without a value";
}

std::string branches(const Node& node, bool) {
  if (std::string reason = counts(node, 1, node.outputs().size(), 2); !reason.empty())
    return reason;
  if (!type_of_input(node, 0).is(K::kBool)) return "the condition of an If must be a bool";
  for (const Block* b : node.blocks()) {
    if (!b->params().empty()) return "a block of an If must not have parameters";
    if (b->returns().size() != node.outputs().size())
      return "a block of an If must return what the node outputs";
    for (size_t i = 0; i < b->returns().size(); ++i)
      if (!is_unshaped_subtype(*b->returns()[i]->type(), *node.output(i)->type()))
        return mismatch("a returned value of a block", *b->returns()[i]->type(),
                        *node.output(i)->type());
  }
  return "";
}

std::string loop(const Node& node, bool) {
  const size_t carried = node.outputs().size();
  if (std::string reason = counts(node, carried + 2, carried, 1); !reason.empty()) return reason;
  const Block& body = *node.block(0);
  if (!type_of_input(node, 0).is(K::kInt)) return "the trip count of a Loop must be an int";
  if (!type_of_input(node, 1).is(K::kBool)) return "the condition of a Loop must be a bool";
  if (body.params().size() != carried + 1)
    return "the block of a Loop must take (iteration, carried...)";
  if (body.returns().size() != carried + 1)
    return "the block of a Loop must return a condition and the carried values";
  if (!body.params()[0]->type()->is(K::kInt)) return "the iteration of a Loop must be an int";
  if (!body.returns()[0]->type()->is(K::kBool)) return "Loop condition must be bool";
  for (size_t i = 0; i < carried; ++i) {
    const Type& carried_type = *body.params()[i + 1]->type();
    if (!is_unshaped_subtype(type_of_input(node, i + 2), carried_type))
      return mismatch("an initial value of a Loop", type_of_input(node, i + 2), carried_type);
    if (!is_unshaped_subtype(*body.returns()[i + 1]->type(), carried_type))
      return mismatch("a returned value of a Loop", *body.returns()[i + 1]->type(), carried_type);
    if (!is_unshaped_subtype(carried_type, *node.output(i)->type()))
      return mismatch("a carried value of a Loop", carried_type, *node.output(i)->type());
  }
  return "";
}

std::string list(const Node& node, bool) {
  if (std::string reason = counts(node, node.inputs().size(), 1); !reason.empty()) return reason;
  const Type& result_type = *node.output()->type();
  if (!result_type.is(K::kList)) return "its output must be a list";
  for (const Value* item : node.inputs())
    if (!is_unshaped_subtype(*item->type(), *result_type.element()))
      return mismatch("an element", *item->type(), *result_type.element());
  return "";
}

std::string tuple(const Node& node, bool) {
  if (std::string reason = counts(node, node.inputs().size(), 1); !reason.empty()) return reason;
  const Type& result_type = *node.output()->type();
  if (!result_type.is(K::kTuple) || result_type.inner().size() != node.inputs().size())
    return "its output must be a tuple of its inputs";
  for (size_t i = 0; i < node.inputs().size(); ++i)
    if (!is_unshaped_subtype(type_of_input(node, i), *result_type.inner()[i]))
      return mismatch("an element", type_of_input(node, i), *result_type.inner()[i]);
  return "";
}

std::string dict(const Node& node, bool) {
  if (std::string reason = counts(node, node.inputs().size(), 1); !reason.empty()) return reason;
  const Type& result_type = *node.output()->type();
  if (!result_type.is(K::kDict) || node.inputs().size() % 2 != 0)
    return "its output must be a dictionary of its keys and values";
  for (size_t i = 0; i < node.inputs().size(); ++i)
    if (!is_unshaped_subtype(type_of_input(node, i), *result_type.inner()[i % 2]))
      return mismatch(i % 2 ? "a value" : "a key", type_of_input(node, i),
                      *result_type.inner()[i % 2]);
  return "";
}

std::string tuple_unpack(const Node& node, bool) {
  if (std::string reason = counts(node, 1, node.outputs().size()); !reason.empty()) return reason;
  const Type& actual = type_of_input(node, 0);
  if (!actual.is(K::kTuple) || actual.inner().size() != node.outputs().size())
    return message("its outputs must be the elements of a ", actual.text());
  for (size_t i = 0; i < node.outputs().size(); ++i)
    if (!related(*actual.inner()[i], *node.output(i)->type()))
      return mismatch("an element", *actual.inner()[i], *node.output(i)->type());
  return "";
}

std::string list_unpack(const Node& node, bool) {
  if (std::string reason = counts(node, 1, node.outputs().size()); !reason.empty()) return reason;
  const Type& actual = type_of_input(node, 0);
  if (!actual.is(K::kList)) return message("its input must be a list, not a ", actual.text());
  for (const Value* output : node.outputs())
    if (!related(*actual.element(), *output->type()))
      return mismatch("an element", *actual.element(), *output->type());
  return "";
}

std::string tuple_index(const Node& node, bool) {
  if (std::string reason = counts(node, 2, 1); !reason.empty()) return reason;
  if (!type_of_input(node, 0).is(K::kTuple)) return "its input must be a tuple";
  if (!type_of_input(node, 1).is(K::kInt)) return "the index of a tuple must be an int";
  const auto& inner = type_of_input(node, 0).inner();
  const IValue* constant = node.input(1)->constant();
  const int64_t* index = constant ? constant->get_if<int64_t>() : nullptr;
  const auto n = static_cast<int64_t>(inner.size());
  if (!index) {
    const bool same = std::all_of(inner.begin(), inner.end(), [&](const TypeRef& type) {
      return related(*type, *node.output()->type());
    });
    return same ? "" : "an index that is not constant needs a tuple of one type";
  }
  if (*index < -n || *index >= n) return "tuple index out of range";
  const Type& element = *inner[static_cast<size_t>(*index < 0 ? *index + n : *index)];
  return related(element, *node.output()->type())
             ? ""
             : mismatch("the element", element, *node.output()->type());
}

std::string tuple_slice(const Node& node, bool) {
  if (std::string reason = counts(node, 1, 1); !reason.empty()) return reason;
  const Type& actual = type_of_input(node, 0);
  const Type& result_type = *node.output()->type();
  const auto number = [&](const char* name) {
    const Attribute* attribute = node.attribute(name);
    const int64_t* at = attribute ? attribute->value.get_if<int64_t>() : nullptr;
    return at ? *at : -1;
  };
  const int64_t from = number("beg"), to = number("end");
  if (!actual.is(K::kTuple) || !result_type.is(K::kTuple))
    return "its input and output must be tuples";
  if (from < 0 || to < from || to > static_cast<int64_t>(actual.inner().size()) ||
      static_cast<int64_t>(result_type.inner().size()) != to - from)
    return "beg and end are not within the tuple";
  for (size_t i = 0; i < result_type.inner().size(); ++i)
    if (!related(*actual.inner()[i + static_cast<size_t>(from)], *result_type.inner()[i]))
      return mismatch("an element", *actual.inner()[i + static_cast<size_t>(from)],
                      *result_type.inner()[i]);
  return "";
}

// The class of the node's first input, or null.
const ClassType* class_of(const Node& node) {
  const Type& type = type_of_input(node, 0);
  return type.is(K::kClass) ? static_cast<const ClassType*>(&type) : nullptr;
}
// The type of the attribute that the node names, or null.
const Type* attribute_type(const Node& node) {
  const ClassType* type = class_of(node);
  const int64_t slot = type ? type->slot(node.text_attribute("name")) : -1;
  return slot < 0 ? nullptr : type->attributes()[static_cast<size_t>(slot)].type.get();
}
std::string no_member(const Node& node, const char* noun) {
  return message("a ", type_of_input(node, 0).text(), " has no ", noun, " '",
                 node.text_attribute("name"), "'");
}

std::string get_attribute(const Node& node, bool) {
  if (std::string reason = counts(node, 1, 1); !reason.empty()) return reason;
  const Type* expected = attribute_type(node);
  if (!expected) return no_member(node, "attribute");
  return related(*expected, *node.output()->type())
             ? ""
             : mismatch("the attribute", *expected, *node.output()->type());
}

std::string set_attribute(const Node& node, bool) {
  if (std::string reason = counts(node, 2, 0); !reason.empty()) return reason;
  const Type* expected = attribute_type(node);
  if (!expected) return no_member(node, "attribute");
  return is_unshaped_subtype(type_of_input(node, 1), *expected)
             ? ""
             : mismatch("the assigned value", type_of_input(node, 1), *expected);
}

std::string call_of(const Function& function, const Node& node, size_t first) {
  const auto& parameters = function.graph().inputs();
  if (node.inputs().size() != parameters.size() + first)
    return message(function.name(), " takes ", parameters.size(), " arguments, not ",
                   node.inputs().size() - first);
  for (size_t i = 0; i < parameters.size(); ++i)
    if (!is_unshaped_subtype(type_of_input(node, i + first), *parameters[i]->type()))
      return mismatch("an argument", type_of_input(node, i + first), *parameters[i]->type());
  const auto& results = function.graph().outputs();
  if (results.size() != 1 || !related(*results[0]->type(), *node.output()->type()))
    return message(function.name(), " does not return a ", node.output()->type()->text());
  return "";
}

std::string call_function(const Node& node, bool calls) {
  if (node.inputs().empty() || node.outputs().size() != 1 || !node.blocks().empty())
    return "it must have a function, its arguments and one output";
  if (!type_of_input(node, 0).is(K::kFunction)) return "callee is not a function";
  const Attribute* name = node.input(0)->node()->attribute("name");
  if (!name) return "its callee is not a constant";
  if (!name->object) return calls ? "its function is not there" : "";
  return calls ? call_of(static_cast<const Function&>(*name->object), node, 1) : "";
}

std::string call_method(const Node& node, bool calls) {
  if (node.inputs().empty() || node.outputs().size() != 1 || !node.blocks().empty())
    return "it must have an object, its arguments and one output";
  const ClassType* type = class_of(node);
  if (!type) return no_member(node, "method");
  if (!calls) return "";
  const Ref<Function> method = type->method(node.text_attribute("name"));
  return method ? call_of(*method, node, 0) : no_member(node, "method");
}

// The value's type must allow the cast. A constant None may be cast to anything, in a branch that
// does not run.
std::string cast(const Node& node, bool) {
  if (std::string reason = counts(node, 1, 1); !reason.empty()) return reason;
  const Type& from = type_of_input(node, 0);
  if (from.is(K::kNone)) return "";
  const Type& to = *node.output()->type();
  return related(from, to) ? "" : message("a ", from.text(), " is never a ", to.text());
}

std::string is_instance_of(const Node& node, bool) {
  if (std::string reason = counts(node, 1, 1); !reason.empty()) return reason;
  const Attribute* types = node.attribute("types");
  if (!types || types->types.empty()) return "it must have the attribute types";
  return node.output()->type()->is(K::kBool) ? "" : "its output must be a bool";
}

std::string uninitialized(const Node& node, bool) { return counts(node, 0, 1); }

std::string create_object(const Node& node, bool) {
  if (std::string reason = counts(node, 0, 1); !reason.empty()) return reason;
  return node.output()->type()->is(K::kClass) ? "" : "its output must be an object of a class";
}

std::string fusion_group(const Node& node, bool) {
  const Attribute* sub = node.attribute("Subgraph");
  if (!sub || !sub->graph || !node.blocks().empty()) return "it must have a subgraph and no blocks";
  const Graph& graph = *sub->graph;
  if (graph.inputs().size() != node.inputs().size() ||
      graph.outputs().size() != node.outputs().size())
    return "its subgraph has other inputs or outputs";
  for (size_t i = 0; i < node.inputs().size(); ++i)
    if (!is_unshaped_subtype(type_of_input(node, i), *graph.inputs()[i]->type()))
      return mismatch("an input", type_of_input(node, i), *graph.inputs()[i]->type());
  for (size_t i = 0; i < node.outputs().size(); ++i)
    if (!related(*graph.outputs()[i]->type(), *node.output(i)->type()))
      return mismatch("an output", *graph.outputs()[i]->type(), *node.output(i)->type());
  for (const Node* inner = graph.block()->first(); inner != graph.block()->return_node();
       inner = inner->next())
    if (!inner->op() && !inner->is("prim::Constant") && !inner->is("prim::ListConstruct"))
      return "a group may only have operators, constants and lists, got " + inner->kind().text();
  return "";
}

// The fork's output must be a future of its subgraph's only result.
std::string fork(const Node& node, bool calls) {
  const Attribute* sub = node.attribute("Subgraph");
  if (!sub || !sub->graph || !node.blocks().empty()) return "it must have a subgraph and no blocks";
  const Graph& graph = *sub->graph;
  if (graph.inputs().size() != node.inputs().size() || graph.outputs().size() != 1 ||
      node.outputs().size() != 1)
    return "its subgraph has other inputs, or not one output";
  for (size_t i = 0; i < node.inputs().size(); ++i)
    if (!is_unshaped_subtype(type_of_input(node, i), *graph.inputs()[i]->type()))
      return mismatch("an input", type_of_input(node, i), *graph.inputs()[i]->type());
  const Type& future = *node.output()->type();
  if (!future.is(K::kFuture) || !related(*graph.outputs()[0]->type(), *future.element()))
    return mismatch("the result", *graph.outputs()[0]->type(), future);
  calls ? verify(graph) : verify_alone(graph);
  return "";
}

// The inputs must be a message and optionally a class.
std::string raise(const Node& node, bool) {
  if (node.inputs().empty() || node.inputs().size() > 2 || !node.outputs().empty())
    return "it must have a message, perhaps a class, and no outputs";
  return type_of_input(node, 0).is(K::kString) ? "" : "its message must be a str";
}

// A call of Python, whose types are checked when it runs.
std::string foreign(const Node& node, bool) {
  return node.blocks().empty() ? "" : "a call must not have blocks";
}

const std::unordered_map<std::string, Rule>& rules() {
  static const auto* table = new std::unordered_map<std::string, Rule>{
      {"prim::Constant", constant},
      {"prim::If", branches},
      {"prim::Loop", loop},
      {"prim::ListConstruct", list},
      {"prim::TupleConstruct", tuple},
      {"prim::DictConstruct", dict},
      {"prim::TupleUnpack", tuple_unpack},
      {"prim::ListUnpack", list_unpack},
      {"prim::TupleIndex", tuple_index},
      {"prim::TupleSlice", tuple_slice},
      {"prim::GetAttr", get_attribute},
      {"prim::SetAttr", set_attribute},
      {"prim::CallFunction", call_function},
      {"prim::CallMethod", call_method},
      {"prim::unchecked_cast", cast},
      {"prim::isinstance", is_instance_of},
      {"prim::Uninitialized", uninitialized},
      {"prim::CreateObject", create_object},
      {"prim::FusionGroup", fusion_group},
      {"prim::fork", fork},
      {"prim::RaiseException", raise},
      {"prim::PythonOp", foreign},
      {"prim::Print", foreign},
  };
  return *table;
}

}  // namespace

bool is_unshaped_subtype(const Type& type, const Type& expected) {
  return is_subtype(type, expected) ||
         is_subtype(*unshaped(TypeRef::share(const_cast<Type*>(&type))),
                    *unshaped(TypeRef::share(const_cast<Type*>(&expected))));
}

bool has_rule(const std::string& kind) { return rules().count(kind) != 0; }

std::string violation_in(const Node& node, bool calls) {
  const auto it = rules().find(node.kind().text());
  // A graph lowered for export to ONNX: onnx.checker validates these nodes, and they never run
  // here.
  if (it == rules().end() && node.kind().text().starts_with("onnx::")) return "";
  if (it == rules().end()) return "unknown operator or node kind";
  return it->second(node, calls);
}

bool constant_fits(const IValue& value, const Type& type) {
  const Tensor* t = value.get_if<Tensor>();
  const Type& expected = type.is(K::kOptional) ? *type.element() : type;
  if (!t || !*t || !expected.is(K::kTensor)) return is_instance(value, type);
  TensorProperties facts = expected.facts();
  if (facts.dtype != DType::kUndefined && facts.dtype != t->dtype()) return false;
  facts.strides.reset();
  facts.requires_grad.reset();
  facts.device = Device::kUndefined;
  return is_instance(value, *tensor_type(std::move(facts)));
}

}  // namespace uh::jit
