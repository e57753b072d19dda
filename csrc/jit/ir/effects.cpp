#include "jit/ir/effects.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "generated/tags.h"
#include "jit/builtins/builtin.h"
#include "jit/ir/alias_analysis.h"
#include "jit/ir/constants.h"
#include "jit/ir/type_predicates.h"

namespace uh::jit {
namespace {

const std::unordered_map<std::string_view, Role>& roles() {
  static const auto* table = new std::unordered_map<std::string_view, Role>{
      {"prim::Constant", Role::kConstant},
      {"prim::ListConstruct", Role::kList},
      {"prim::DictConstruct", Role::kDict},
      {"prim::CreateObject", Role::kObject},
      {"prim::TupleConstruct", Role::kSame},
      {"prim::TupleUnpack", Role::kSame},
      {"prim::TupleIndex", Role::kSame},
      {"prim::TupleSlice", Role::kSame},
      {"prim::unchecked_cast", Role::kSame},
      {"prim::ListUnpack", Role::kTakeOut},
      {"prim::GetAttr", Role::kTakeOut},
      {"prim::SetAttr", Role::kSetAttr},
      {"prim::If", Role::kBlocks},
      {"prim::Loop", Role::kBlocks},
      {"prim::FusionGroup", Role::kFresh},
      {"prim::Uninitialized", Role::kNothing},
      {"prim::isinstance", Role::kNothing},
      {"prim::Return", Role::kNothing},
      {"prim::RaiseException", Role::kNothing},
      {"prim::Param", Role::kNothing},
  };
  return *table;
}

// True for node kinds without an operator that are pure; any kind not listed is impure.
bool quiet_kind(const Node& node) {
  const auto it = roles().find(node.kind().text());
  return it != roles().end() && !node.is("prim::RaiseException") && !node.is("prim::SetAttr");
}

// True if a dropout operator is known to be the identity: it is not training, or the probability is
// 0.
bool drops_nothing(const Node& node) {
  const Value* train = node.input("train");
  if (train && constant_bool(train) == false) return true;
  const Value* p = node.input("dropout_p");
  if (!p) p = node.input("dropout");
  if (!p && train) p = node.input("p");
  return p && (constant_float(p) == 0.0 || constant_int(p) == 0);
}

bool random_itself(const Node& node) {
  return node.op() && node.op()->has_tag(Tag::kNondeterministicSeeded) && !drops_nothing(node);
}

bool effect_itself(const Node& node) {
  if (node.op()) return node.op()->has_tag(Tag::kHasSideEffects) || random_itself(node);
  return !quiet_kind(node);
}

bool any_inside(const Node& node, bool (*holds)(const Node&)) {
  if (holds(node)) return true;
  for (const Block* block : node.blocks()) {
    for (const Node* inner = block->first(); inner != block->return_node(); inner = inner->next())
      if (any_inside(*inner, holds)) return true;
  }
  return false;
}

bool writes_itself(const Node& node) { return !written_inputs(node).empty(); }

// Operands of different layouts: the result has the layout of the first.
bool same_layout(const Type& a, const Type& b) {
  const TensorProperties &x = a.facts(), &y = b.facts();
  return all_known(x.sizes) && all_known(x.strides) && all_known(y.sizes) && all_known(y.strides) &&
         *x.sizes == *y.sizes && *x.strides == *y.strides;
}

}  // namespace

bool Node::has_side_effects() const { return any_inside(*this, effect_itself); }

bool Node::is_deterministic() const { return !any_inside(*this, random_itself); }

bool is_pure(const Node& node) {
  return !node.has_side_effects() && !any_inside(node, writes_itself);
}

Role role_of(const Node& node) {
  if (node.op() && node.op()->has_tag(Tag::kAccumulatesGradients)) return Role::kCall;
  if (as_builtin(node.op())) {
    const bool memory = !written_inputs(node).empty() ||
                        std::any_of(node.outputs().begin(), node.outputs().end(),
                                    [](const Value* v) { return is_mutable_type(*v->type()); });
    return memory ? Role::kBuiltin : Role::kNothing;
  }
  if (node.op()) return Role::kOperator;
  const auto it = roles().find(node.kind().text());
  return it == roles().end() ? Role::kCall : it->second;
}

bool may_return_argument(const OperatorInfo& op) {
  return op.differentiation() == Differentiation::kComposite || op.name_space() != "aten" ||
         op.has_tag(Tag::kMaybeAliasingOrMutating);
}

bool writes_items(const Node& node) {
  return node.op() && node.op()->has_tag(Tag::kWritesListItems);
}

bool changes_shape(const Node& node) {
  if (!node.op()) return role_of(node) == Role::kCall;
  // An out= tensor is resized if its size differs.
  return node.op()->has_tag(Tag::kInplaceView) || node.op()->schema().is_out();
}

std::vector<Value*> written_inputs(const Node& node) {
  std::vector<Value*> all;
  if (!node.op()) {
    if (node.is("prim::SetAttr")) all.push_back(node.input(0));
    return all;
  }
  const FunctionSchema& schema = node.op()->schema();
  for (size_t i = 0; i < schema.arguments.size() && i < node.inputs().size(); ++i)
    if (schema.arguments[i].is_write()) all.push_back(node.input(i));
  const Value* training = node.input("training");
  if (!training) training = node.input("use_input_stats");
  if (node.op()->has_tag(Tag::kUpdatesRunningStatistics) && constant_bool(training) != false) {
    for (const std::string_view name : {"running_mean", "running_var"}) {
      Value* statistic = node.input(name);
      if (statistic && !statistic->type()->is(TypeKind::kNone)) all.push_back(statistic);
    }
  }
  if (writes_items(node)) {
    for (Value* input : node.inputs())
      if (input->type()->is(TypeKind::kList) && is_mutable_type(*input->type()->element()))
        all.push_back(input);
  }
  return all;
}

bool commutes(const Node& node) {
  // Not maximum and minimum: their choice between 0.0 and -0.0 depends on the order.
  if (!node.op() || !node.op()->has_tag(Tag::kCommutative)) return false;
  const Type &a = *node.input(0)->type(), &b = *node.input(1)->type();
  if (is_number(a) && is_number(b)) return same_type(a, b);  // the order matters for add.int_float
  if (!a.is(TypeKind::kTensor) || !b.is(TypeKind::kTensor) || !same_layout(a, b)) return false;
  // A complex multiplication fuses one of two partial products with their sum: the order decides
  // which.
  const auto real = [](const Type& t) {
    return t.facts().dtype != DType::kUndefined && !is_complex(t.facts().dtype);
  };
  if (!real(a) || !real(b)) return false;
  const Value* alpha = node.input("alpha");
  return !alpha || constant_int(alpha) == 1;
}

}  // namespace uh::jit
